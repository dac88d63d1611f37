import { fileURLToPath } from "node:url";
import type { DeliveryStore, RecordState } from "@svc-webhooks/core";
import { bundled } from "@svc-webhooks/kit/launch";
import { workerd } from "@svc-webhooks/kit/workers";
import type { Command } from "./command.js";

const script = await bundled(fileURLToPath(new URL("worker.ts", import.meta.url)), "workerd");

export type Cloud = Awaited<ReturnType<typeof cloud>>;

/** Opens a store in real workerd, called over HTTP. */
export async function cloud(shards = 3, persistTo?: string) {
  const worker = workerd(script, {
    durableObjects: { RECORDS: { className: "Records", useSQLite: true } },
    ...(persistTo === undefined ? {} : { durableObjectsPersist: persistTo }),
  });
  const url = await worker.ready;
  /** Runs a command in the worker. */
  const control = async (call: Command["call"], ...given: readonly unknown[]): Promise<unknown> => {
    const command: Command = { shards, call, given };
    const response = await fetch(url, { method: "POST", body: JSON.stringify(command) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) ?? undefined;
  };
  // The worker returns the result of the store's method of the same name.
  const remote = (call: Command["call"]) => (key: string, request?: object) =>
    control(call, key, request) as Promise<never>;
  const store: DeliveryStore = {
    shared: true,
    claim: remote("claim"),
    complete: remote("complete"),
    release: remote("release"),
    extend: remote("extend"),
    forget: remote("forget"),
    // JSON has no undefined.
    peek: async (keys) =>
      ((await control("peek", keys)) as (RecordState | null)[]).map((state) => state ?? undefined),
  };
  return {
    store,
    advance: (ms: number) => control("advance", ms),
    /** Aborts all objects. The next call restarts them from storage, as after an eviction. */
    evict: () => control("evict"),
    control,
    close: () => worker.dispose(),
  };
}
