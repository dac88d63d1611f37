import { ApiError } from "../errors.js";
import type { Service } from "../service/service.js";
import type { CallRecord } from "../state/records.js";
import { whole } from "../read/body.js";
import { realNow } from "../lib/timers.js";

/** Runs an action that raises events, and records it as a call under which the timeline shows the events. */
export function recorded<Result>(
  { state }: Service,
  call: CallRecord,
  status: number,
  run: (call: CallRecord) => Result,
): Result {
  const startedAt = realNow();
  const finish = () => {
    call.ms = Math.round(realNow() - startedAt);
    state.noteCall(call);
  };
  try {
    return state.transaction(() => {
      state.calls.put(call);
      const result = run(call);
      call.status = status;
      const body = whole(new TextEncoder().encode(JSON.stringify(result)));
      call.response = { headers: [["content-type", "application/json"]], body };
      finish();
      return result;
    });
  } catch (error) {
    call.status = error instanceof ApiError ? error.status : 500;
    call.code = error instanceof ApiError ? error.code : "internal_error";
    finish();
    throw error;
  }
}
