import type { DeadlineCall, MaybePromise } from "@svc-webhooks/core";

/**
 * Returns a function that loads a value once for all calls. If the load fails, or a call reaches its deadline during the
 * load, the next call loads again, because the connection of the first load may have died.
 */
export function shared<Value>(
  load: () => Promise<Value>,
): (call: DeadlineCall) => MaybePromise<Value> {
  let loading: Promise<Value> | undefined;
  let loaded: { readonly value: Value } | undefined;
  return (call) => {
    if (loaded) return loaded.value;
    const own = (loading ??= load());
    const forget = () => {
      if (loading === own) loading = undefined;
    };
    // The signal is read only by a call that waits, because reading it creates it.
    call.signal.addEventListener("abort", forget, { once: true });
    return own.then(
      (value) => (loaded = { value }).value,
      (error: unknown) => {
        forget();
        throw error;
      },
    );
  };
}
