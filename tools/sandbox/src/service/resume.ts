import { continueSend } from "./sends.js";
import type { Service } from "./service.js";

/** Ends interrupted calls with status 503, and resumes unfinished sends and deliveries. */
export function resumeWork(service: Service): void {
  const { state, engine } = service;
  for (const call of state.calls.all()) {
    // A call with status 0 whose response was not lost to a fault was still running when the process ended or the
    // checkpoint was taken.
    if (call.status === 0 && !call.lost)
      state.calls.put(Object.assign(call, { status: 503, code: "service_unavailable" }));
  }
  for (const send of state.sends.all()) continueSend(service, send);
  for (const delivery of state.deliveries.all()) {
    if (delivery.state === "pending" || delivery.state === "attempting") engine.start(delivery);
  }
}
