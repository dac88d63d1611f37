/** A successful response. Its headers are copies in which secrets are masked. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly requestId: string | undefined;
  /** The number of attempts that were made, including the successful one. */
  readonly attempts: number;
  /** Returns the body. It is a function, so that logging the response does not reveal a secret in the body. */
  readonly text: () => string;
}

/** A promise of an operation's result. Its `withResponse` also provides the response. */
export interface ResponsePromise<Result> extends Promise<Result> {
  /** Resolves to the result and the raw response: status, headers, request id, attempts and text. */
  readonly withResponse: () => Promise<{ readonly result: Result; readonly response: RawResponse }>;
}

/**
 * Creates the promise that an operation returns.
 *
 * @param resultOf converts a successful request to the result of the operation
 */
export function responsePromise<Sent extends { readonly response: RawResponse }, Result>(
  sending: Promise<Sent>,
  resultOf: (sent: Sent) => Result,
): ResponsePromise<Result> {
  const result = sending.then(resultOf);
  return Object.assign(result, {
    async withResponse() {
      // If `result` rejects, this promise rejects with the same error.
      return { result: await result, response: (await sending).response };
    },
  });
}
