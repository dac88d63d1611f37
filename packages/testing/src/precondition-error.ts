/** The error of a case that could not be tested. The message states the fix, in place of the case's own. */
export class PreconditionError extends Error {}
