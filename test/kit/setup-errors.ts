/** A helper has waited for something that did not happen. */
export class GaveUpError extends Error {
  override readonly name = "GaveUpError";
}

/** A process or a server that a test needs ended before it was ready. */
export class NotStartedError extends Error {
  override readonly name = "NotStartedError";
}
