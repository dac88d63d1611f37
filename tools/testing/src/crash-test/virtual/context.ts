import { AsyncResource } from "node:async_hooks";

/** Returns a function that runs callbacks in the current asynchronous context. Cheaper than `AsyncResource.bind`. */
export function captureContext(): <Result>(run: () => Result) => Result {
  const resource = new AsyncResource("svc-webhooks", { requireManualDestroy: true });
  return (run) => resource.runInAsyncScope(run);
}
