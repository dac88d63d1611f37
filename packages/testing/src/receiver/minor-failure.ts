/**
 * A failure that breaks a recommendation, but not the rule on which its case rests, such as a forgery that is refused
 * with a 5xx status instead of a 4xx.
 */
export class MinorFailure extends Error {
  override readonly name = "MinorFailure";
}
