import { isIdempotent, isReading, keyIn, statusResponse } from "@svc-webhooks/crash-test";
import type { Crossings, Executed } from "../virtual/crossings.js";
import { inside } from "../virtual/inside.js";
import { messageOf, threwText } from "../virtual/message.js";
import type { SimulatedProcess } from "../virtual/process.js";
import { connectionReset } from "../virtual/reset.js";
import { whereCalled } from "./source.js";

/** Matches a part of a path that may be a secret, such as the end of a Slack webhook's URL, or a random id. */
const token = /(?<=\/)(?=[^/]*\d)(?=[^/]*[A-Za-z])[^/]{20,}/g;

export type Respond = (request: Request) => Response | Promise<Response>;

/** Returns the `fetch` of a simulated process. Each call is a crossing, and `respond` creates the response. */
export function crossingFetch(
  crossings: Crossings,
  owner: SimulatedProcess,
  respond: Respond,
): typeof fetch {
  return async (input, init) => {
    const source = whereCalled();
    const request = new Request(input, init);
    request.signal.throwIfAborted();
    const { host, pathname } = new URL(request.url);
    const name = `${request.method} ${host}${pathname.replaceAll(token, "…")}`;
    const isRead = isReading(request.method);
    const execute = async (): Promise<Executed<Response>> => {
      const identity = isIdempotent(request.method)
        ? `${request.method} ${request.url} ${await request.clone().text()}`
        : undefined;
      try {
        return { reply: { value: asResponse(await respond(request)) }, identity };
      } catch (error) {
        return { reply: { error }, refusal: refusalOf(error) };
      }
    };
    const reply = crossings.cross<Response>(owner, {
      name,
      kind: "call",
      effects: isRead ? [] : [name],
      reads: isRead ? [name] : [],
      key: keyIn(request.headers.get("idempotency-key")),
      source,
      execute: () => inWorld(execute),
      broken: () => new TypeError("fetch failed", { cause: connectionReset() }),
      statusResponse: () =>
        new Response(request.method === "HEAD" ? undefined : statusResponse.body, statusResponse),
    });
    return unlessAborted(request.signal, reply);
  };
}

/** Returns the text of an error of `respond`. The text always names the option. */
function refusalOf(error: unknown): string {
  const text = messageOf(error);
  return text.startsWith("`respond`") ? text : threwText("respond", error);
}

function asResponse(value: Response): Response {
  if (Object.prototype.toString.call(value) === "[object Response]") return value;
  throw new TypeError("`respond` must return a Response, such as Response.json({}).");
}

/** Settles like `reply`, or rejects when the signal is aborted. */
function unlessAborted<Result>(signal: AbortSignal, reply: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    void reply.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Runs code of the outside world: in the history's time, but in none of its processes. The code's `fetch` rejects. */
export function inWorld<Result>(run: () => Result): Result {
  const current = inside.getStore();
  if (!current) return run();
  const outside = { ...current, process: undefined, attempt: undefined, fetch: notForTheWorld };
  return inside.run(outside, run);
}

const notForTheWorld: typeof fetch = () =>
  Promise.reject(
    new TypeError(
      "`respond`, `observe` and the functions that you pass to `world.effect` simulate other services, so they must not call `fetch`.",
    ),
  );
