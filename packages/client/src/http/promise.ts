import type { RawResponse, Sent } from "./send.js";

/** The result of an operation, and on request also its response. */
export interface ResponsePromise<Result> extends Promise<Result> {
  /** Resolves with the raw response as well: status, headers, request id, attempts and text. */
  readonly withResponse: () => Promise<{ readonly result: Result; readonly response: RawResponse }>;
}

/** @param resultOf turns a success into the result of the operation */
export function responsePromise<Result>(
  sending: Promise<Sent>,
  resultOf: (sent: Sent) => Result,
): ResponsePromise<Result> {
  const result = sending.then(resultOf);
  return Object.assign(result, {
    async withResponse() {
      // If it fails, this promise has the error too.
      const [sent, made] = await Promise.all([sending, result]);
      return { result: made, response: sent.response };
    },
  });
}
