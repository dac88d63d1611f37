import { continueSend } from "./sends.js";
import type { Service } from "./service.js";

/** Resumes the work that stored records leave open: unfinished calls, sends and pending deliveries. */
export function resumeWork(service: Service): void {
  const { state, engine } = service;
  for (const call of state.calls.all()) {
    // The response to this call was never sent.
    if (call.status === 0 && !call.lost)
      state.calls.put(Object.assign(call, { status: 503, code: "service_unavailable" }));
  }
  for (const send of state.sends.all()) continueSend(service, send);
  for (const delivery of state.deliveries.all()) {
    if (delivery.state === "pending" || delivery.state === "attempting") engine.start(delivery);
  }
}
