/** The response as it arrived. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly requestId: string | undefined;
  /** Attempts that were made, the successful one included. */
  readonly attempts: number;
  /** The body. A function, so that no log shows the secret that it may contain. */
  readonly text: () => string;
}

/** The result of an operation, and on request also its response. */
export interface ResponsePromise<Result> extends Promise<Result> {
  /** Resolves with the raw response as well: status, headers, request id, attempts and text. */
  readonly withResponse: () => Promise<{ readonly result: Result; readonly response: RawResponse }>;
}

/** @param resultOf turns a success into the result of the operation */
export function responsePromise<Sent extends { readonly response: RawResponse }, Result>(
  sending: Promise<Sent>,
  resultOf: (sent: Sent) => Result,
): ResponsePromise<Result> {
  const result = sending.then(resultOf);
  return Object.assign(result, {
    async withResponse() {
      // If it fails, this promise rejects with the same error.
      return { result: await result, response: (await sending).response };
    },
  });
}
