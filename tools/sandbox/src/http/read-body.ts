import { ApiError, invalid } from "../errors.js";

export const tooLarge = (limit: number) =>
  new ApiError(
    413,
    "body_too_large",
    `The request body must not be larger than ${limit} bytes (A-24).`,
  );

/**
 * Reads a request body.
 * @throws ApiError 413 if it has more than `limit` bytes, 400 if the connection closes before the end of the body
 */
export async function readBody(request: Request, limit: number): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > limit) throw tooLarge(limit);
  // The chunks are copied to one buffer: chunks of one byte each, kept in an array, would need a hundred times as much
  // memory.
  let body = new Uint8Array(1_024);
  let length = 0;
  try {
    for await (const chunk of request.body ?? []) {
      const end = length + chunk.length;
      if (end > limit) throw tooLarge(limit);
      if (end > body.length) {
        const larger = new Uint8Array(Math.min(Math.max(end, 2 * body.length), limit));
        larger.set(body.subarray(0, length));
        body = larger;
      }
      body.set(chunk, length);
      length = end;
    }
  } catch (error) {
    throw error instanceof ApiError
      ? error
      : invalid("body", "The connection was closed before the request body was complete.");
  }
  return body.subarray(0, length);
}

/** Checks that a request declares its body as JSON without Content-Encoding. @throws ApiError 415 if it does not */
export function assertJson({ headers }: Request): void {
  const type = headers.get("content-type") ?? "";
  if (/^application\/json\s*(?:;|$)/i.test(type) && !headers.has("content-encoding")) return;
  throw new ApiError(
    415,
    "unsupported_media_type",
    "Send the body as JSON, with Content-Type: application/json and without Content-Encoding.",
  );
}

/** Parses JSON in UTF-8. @throws ApiError 400 for anything else */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw invalid("body", "The request body is not valid JSON in UTF-8.");
  }
}
