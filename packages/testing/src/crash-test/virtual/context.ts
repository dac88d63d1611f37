import { AsyncResource } from "node:async_hooks";

/** Returns a function that calls others in the current asynchronous context, as `AsyncResource.bind` does, for less. */
export function captureContext(): <Result>(run: () => Result) => Result {
  const resource = new AsyncResource("svc-webhooks", { requireManualDestroy: true });
  return (run) => resource.runInAsyncScope(run);
}
