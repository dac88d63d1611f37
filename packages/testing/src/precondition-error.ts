/** An error for a case that could not be tested. Its message states the fix, which replaces the case's own. */
export class PreconditionError extends Error {}
