import { fileURLToPath } from "node:url";
import type { DeliveryStore } from "@svc-webhooks/core";
import { Miniflare } from "miniflare";
import { bundled } from "../../../test/runtimes/launch.js";
import type { Question } from "./worker.js";

const script = await bundled(fileURLToPath(new URL("worker.ts", import.meta.url)), "workerd");

export interface Cloud {
  readonly store: DeliveryStore;
  readonly advance: (ms: number) => Promise<unknown>;
  /** Ends all objects; the next call finds them as after an eviction, with what they have stored. */
  readonly evict: () => Promise<unknown>;
  readonly ask: (call: Question["call"], ...given: readonly unknown[]) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** A store in real workerd, spoken to over HTTP. */
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
  const ask: Cloud["ask"] = async (call, ...given) => {
    const question: Question = { shards, call, given };
    const response = await fetch(url, { method: "POST", body: JSON.stringify(question) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) ?? undefined;
  };
  // The worker answers what the store of the same name does.
  const remote = (call: Question["call"]) => (key: string, request?: object) =>
    ask(call, key, request) as Promise<never>;
  return {
    store: {
      shared: true,
      claim: remote("claim"),
      complete: remote("complete"),
      release: remote("release"),
      extend: remote("extend"),
      forget: remote("forget"),
    },
    advance: (ms) => ask("advance", ms),
    evict: () => ask("evict"),
    ask,
    close: () => miniflare.dispose(),
  };
}
