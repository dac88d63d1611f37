/** An error for a case that could not be tested. Its message includes the fix; the case's own fix is not reported. */
export class PreconditionError extends Error {}
