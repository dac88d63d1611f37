import { fileURLToPath } from "node:url";
import type { DeliveryStore } from "@svc-webhooks/core";
import { Miniflare } from "miniflare";
import { bundled } from "@svc-webhooks/kit/launch";
import type { Command } from "./worker.js";

const script = await bundled(fileURLToPath(new URL("worker.ts", import.meta.url)), "workerd");

export interface Cloud {
  readonly store: DeliveryStore;
  readonly advance: (ms: number) => Promise<unknown>;
  /** Aborts all objects. The next call restarts them from storage, as after an eviction. */
  readonly evict: () => Promise<unknown>;
  /** Runs a command in the worker. */
  readonly control: (call: Command["call"], ...given: readonly unknown[]) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** A store in real workerd, called over HTTP. */
export async function cloud(shards = 3, persistTo?: string): Promise<Cloud> {
  const miniflare = new Miniflare({
    modules: true,
    script,
    compatibilityDate: "2025-06-01",
    durableObjects: { RECORDS: { className: "Records", useSQLite: true } },
    ...(persistTo === undefined ? {} : { durableObjectsPersist: persistTo }),
    host: "127.0.0.1",
    port: 0,
    cf: false,
  });
  const url = await miniflare.ready;
  const control: Cloud["control"] = async (call, ...given) => {
    const command: Command = { shards, call, given };
    const response = await fetch(url, { method: "POST", body: JSON.stringify(command) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) ?? undefined;
  };
  // The worker returns the result of the store's method of the same name.
  const remote = (call: Command["call"]) => (key: string, request?: object) =>
    control(call, key, request) as Promise<never>;
  return {
    store: {
      shared: true,
      claim: remote("claim"),
      complete: remote("complete"),
      release: remote("release"),
      extend: remote("extend"),
      forget: remote("forget"),
    },
    advance: (ms) => control("advance", ms),
    evict: () => control("evict"),
    control,
    close: () => miniflare.dispose(),
  };
}
