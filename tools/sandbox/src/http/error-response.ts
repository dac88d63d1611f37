import type { Settings } from "../assumptions/table.js";
import type { ApiError } from "../errors.js";

/**
 * Returns the response for an error on a route outside the interface, or for a request to a host name that is not
 * allowed. It has the shape of the interface's errors.
 */
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

/** Returns the content type and body of an error response, in the shape that A-11 selects. */
export function errorBody(
  { status, code, message, param }: ApiError,
  requestId: string,
  shape: Settings["errors.shape"],
): { readonly type: string; readonly body: object } {
  const facts = { code, message, ...(param === undefined ? {} : { param }), request_id: requestId };
  switch (shape) {
    case "nested":
      return { type: "application/json", body: { error: facts } };
    case "flat":
      return { type: "application/json", body: facts };
    case "problem": {
      const { message: detail, ...rest } = facts;
      return {
        type: "application/problem+json",
        body: { type: "about:blank", title: code.replaceAll("_", " "), status, detail, ...rest },
      };
    }
  }
}
