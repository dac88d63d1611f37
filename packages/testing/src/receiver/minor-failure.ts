/**
 * The error of a receiver that follows the rule on which a case rests, but not a recommendation: for example, it
 * refuses a forgery with a 5xx status instead of a 4xx.
 */
export class MinorFailure extends Error {
  override readonly name = "MinorFailure";
}
