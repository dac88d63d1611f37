import { errorBody, type ApiError } from "../errors.js";
import type { Settings } from "../assumptions.js";

/** An error outside the interface's operations, in the same shape. */
export function errorResponse(
  error: ApiError,
  requestId: string,
  shape: Settings["errors.shape"],
): Response {
  const { type, body } = errorBody(error, requestId, shape);
  return new Response(JSON.stringify(body), {
    status: error.status,
    headers: {
      ...error.headers,
      "Cache-Control": "no-store",
      "Content-Type": type,
      "X-Content-Type-Options": "nosniff",
      "X-Request-Id": requestId,
    },
  });
}
