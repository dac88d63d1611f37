/** A memory store in the demo's own process, which receiver processes reach through messages. */
import type { ChildProcess } from "node:child_process";
import type { DeliveryStore, MaybePromise } from "@svc-webhooks/core";
import type { FromReceiver, Operation, ToReceiver } from "./messages.js";

/** Makes the calls that a receiver process sends. */
export function serveStore(store: DeliveryStore, receiver: ChildProcess): void {
  receiver.on("message", async (message: FromReceiver) => {
    if (!("call" in message)) return;
    const { call, operation, parameters } = message;
    // The types of the parameters are lost on their way.
    const perform = store[operation] as (
      ...parameters: unknown[]
    ) => MaybePromise<ToReceiver["result"]>;
    const result = await perform(...parameters, { signal: new AbortController().signal });
    // The receiver may have been killed in the meantime.
    if (receiver.connected) receiver.send({ call, result } satisfies ToReceiver, () => {});
  });
}

/** In a receiver process: a store whose calls the demo's process makes. */
export function remoteStore(): DeliveryStore {
  const pending = new Map<number, (result: unknown) => void>();
  let calls = 0;
  process.on("message", ({ call, result }: ToReceiver) => {
    pending.get(call)?.(result);
    pending.delete(call);
  });
  const remote =
    <Result>(operation: Operation) =>
    (...parameters: readonly unknown[]) =>
      new Promise<Result>((resolve) => {
        const call = (calls += 1);
        pending.set(call, resolve as (result: unknown) => void);
        const message: FromReceiver = { call, operation, parameters: parameters.slice(0, -1) };
        process.send?.(message);
      });
  return {
    shared: true,
    claim: remote("claim"),
    complete: remote("complete"),
    release: remote("release"),
    extend: remote("extend"),
    forget: () => false,
  };
}
