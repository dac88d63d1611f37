import { mostCaptured, type ReceivedResponse, type Transport } from "./transport.js";

/** A receiver in this process, such as `receiver.fetch`. */
export type Handler = (request: Request) => Response | Promise<Response>;

/** Passes deliveries to a function, without a socket. */
export const inProcess =
  (handler: Handler): Transport =>
  async ({ url, headers, body }, signal) => {
    try {
      const request = new Request(url, {
        method: "POST",
        headers: headers.map(([name, value]): [string, string] => [name, value]),
        body: Uint8Array.from(body),
        signal,
      });
      // Typed as `unknown`, because a handler in JavaScript may return anything.
      const response: unknown = await handler(request);
      if (!isResponse(response)) {
        const text = `The receiver returned ${named(response)} instead of a Response.`;
        return { error: { kind: "protocol", text } };
      }
      return { response: await responseOf(response, signal) };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return {
        error: {
          kind: "reset",
          text: `The receiver threw, or its response could not be read: ${reason}`,
        },
      };
    }
  };

/** Whether a value is a Response, of any implementation, such as a polyfill. */
const isResponse = (value: unknown): value is Response =>
  typeof value === "object" &&
  value !== null &&
  "status" in value &&
  "headers" in value &&
  "arrayBuffer" in value;

/** Returns the name of a value's type: `undefined`, `null`, `a string`, `an object`. */
function named(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Reads a response as the network transport does: only until the body ends or exceeds `mostCaptured`. */
async function responseOf(response: Response, signal: AbortSignal): Promise<ReceivedResponse> {
  if (response.bodyUsed) throw new TypeError("the body of its response has already been read");
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = response.body?.getReader();
  const stop = () => void reader?.cancel().catch(() => {});
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  while (bytes <= mostCaptured) {
    const value = (await reader?.read())?.value;
    if (value === undefined) break;
    chunks.push(value);
    bytes += value.length;
  }
  stop();
  return {
    status: response.status,
    headers: [...response.headers],
    body: new Uint8Array(Buffer.concat(chunks).subarray(0, mostCaptured)),
    bytes,
    truncated: bytes > mostCaptured,
  };
}
