import { masked } from "../http/authenticate.js";
import { ApiError } from "../errors.js";
import type { Service } from "../service/service.js";
import type { AccountId, CallRecord } from "../state/records.js";
import { whole } from "./body.js";
import { realNow } from "../lib/timers.js";

/** A call of the timeline that nobody made through the interface. */
export const newCall = (
  { ids, clock }: Service,
  request: Request,
  account: AccountId,
  body?: Uint8Array,
): CallRecord => ({
  id: ids.next("call"),
  account,
  at: clock.now(),
  method: request.method,
  path: new URL(request.url).pathname,
  idempotencyKey: undefined,
  headers: Array.from(request.headers, ([name, value]) => [name, masked(name, value)] as const),
  ...(body === undefined ? {} : { body: whole(body) }),
  status: 0,
  ms: 0,
  events: [],
});

/** Runs an action that raises events as a call of the timeline, below which they appear. */
export async function recorded(
  service: Service,
  call: CallRecord,
  status: number,
  run: () => object | Promise<object>,
): Promise<object> {
  const startedAt = realNow();
  service.state.calls.put(call);
  try {
    const result = await run();
    call.status = status;
    const body = whole(new TextEncoder().encode(JSON.stringify(result)));
    call.answer = { headers: [["content-type", "application/json"]], body };
    return result;
  } catch (error) {
    call.status = error instanceof ApiError ? error.status : 500;
    call.code = error instanceof ApiError ? error.code : "internal_error";
    throw error;
  } finally {
    call.ms = Math.round(realNow() - startedAt);
    service.state.calls.put(call);
  }
}
