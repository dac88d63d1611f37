import type { ClaimResult, DeliveryStore } from "@svc-webhooks/core";
import type { Crossings, Executed } from "../virtual/crossings.js";
import type { SimulatedProcess } from "../virtual/process.js";
import { connectionReset } from "../virtual/reset.js";
import { inWorld } from "./fetch.js";

/** Returns the shared store as one process uses it: each of the process's calls is a crossing. */
export function crossingStore(
  store: DeliveryStore,
  crossings: Crossings,
  owner: SimulatedProcess,
  onLease: (leaseMs: number) => void,
): DeliveryStore {
  const cross = <Result>(name: string, call: () => Result | Promise<Result>) =>
    crossings.cross<Result>(owner, {
      name,
      kind: "store",
      effects: [],
      reads: [],
      execute: () =>
        inWorld(async (): Promise<Executed<Result>> => {
          const value = await call();
          return { reply: { value }, note: noteOf(value) };
        }),
      broken: () => connectionReset(),
    });
  return {
    shared: store.shared,
    claim(key, request, call) {
      onLease(request.leaseMs);
      return cross("claim", () => store.claim(key, request, call));
    },
    complete: (key, request, call) => cross("complete", () => store.complete(key, request, call)),
    release: (key, request, call) => cross("release", () => store.release(key, request, call)),
    extend: (key, request, call) => cross("extend", () => store.extend(key, request, call)),
    forget: (key, call) => cross("forget", () => store.forget(key, call)),
    ...(store.peek && {
      peek: (keys, call) => cross("peek", () => store.peek?.(keys, call) ?? []),
    }),
  };
}

/** Returns a note on a claim's result for a report, or undefined for a first run or the result of another call. */
function noteOf(value: unknown): string | undefined {
  const { status, run } = Object(value) as Partial<ClaimResult> & { readonly run?: number };
  if (status === "claimed") return run === undefined || run === 1 ? undefined : `run ${run}`;
  return status === "busy" ? "in flight" : status;
}
