import { isOpen, isRunning } from "../state/records.js";
import { continueSend } from "./sends.js";
import type { Service } from "./service.js";

/** Ends interrupted calls with status 503, and resumes unfinished sends and deliveries. */
export function resumeWork(service: Service): void {
  const { state, engine } = service;
  for (const call of state.calls.all()) {
    // The call was still running when the process ended or the checkpoint was taken.
    if (isRunning(call))
      state.calls.put(Object.assign(call, { status: 503, code: "service_unavailable" }));
  }
  for (const send of state.sends.all()) continueSend(service, send);
  for (const delivery of state.deliveries.all()) {
    if (isOpen(delivery)) engine.start(delivery);
  }
}
