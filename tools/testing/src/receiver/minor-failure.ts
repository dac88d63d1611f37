/**
 * The error of a case in which the receiver follows the case's rule, but breaks a recommendation: for example, it
 * refuses a forgery with a 5xx status instead of a 4xx.
 */
export class MinorFailure extends Error {
  override readonly name = "MinorFailure";
}
