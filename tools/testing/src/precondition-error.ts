/** An error for a case that could not be tested. Its message is reported without the case's own fix. */
export class PreconditionError extends Error {}
