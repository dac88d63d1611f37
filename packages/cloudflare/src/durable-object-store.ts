import type { DeliveryStore, RecordState } from "@svc-webhooks/core";
import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import type { DeliveryRecords } from "./records.js";

type Calls = Pick<
  DeliveryRecords,
  "claim" | "complete" | "release" | "extend" | "forget" | "peek" | "agreeOnShards"
>;

/** A Durable Object as a Worker sees it: each method returns a promise. */
export type DeliveryRecordsStub = {
  readonly [Name in keyof Calls]: (
    ...args: Parameters<Calls[Name]>
  ) => PromiseLike<ReturnType<Calls[Name]>>;
};

/** The members of a Durable Object namespace binding that the store uses. */
export interface DeliveryRecordsNamespace<Id> {
  idFromName(name: string): Id;
  get(id: Id): DeliveryRecordsStub;
}

export interface DurableObjectStoreOptions {
  /**
   * The number of objects across which the records are spread, 1 … 1,024. Default 16. An object handles a few hundred
   * calls per second. The number cannot be changed later, because records would then be looked up in the wrong objects,
   * and events that are done would run again. Errors: `invalid_option`.
   */
  readonly shards?: number | undefined;
}

/**
 * Keeps records in Durable Objects, shared by all isolates of all Workers that bind the same namespace. The store is
 * strongly consistent: each key belongs to one object, and an object runs one call at a time.
 *
 * Calls reject if the namespace was set up with another number of shards. The outcome is then `store_unavailable` (503)
 * unless `onStoreError` is `"process"`, so no event is lost.
 *
 * @throws ConfigError `invalid_option` if `namespace` is not a Durable Object binding or
 *   `shards` is out of range; `unknown_option`
 *
 * @example
 * ```ts
 * import {
 *   DeliveryRecords,
 *   durableObjectStore,
 *   type DeliveryRecordsNamespace,
 * } from "svc-webhooks/cloudflare";
 * import { createReceiver, type Receiver } from "svc-webhooks";
 *
 * // The class of the binding DELIVERIES in wrangler.jsonc.
 * export { DeliveryRecords };
 *
 * interface Env {
 *   readonly DELIVERIES: DeliveryRecordsNamespace<unknown>;
 *   readonly SVC_WEBHOOK_SECRET: string;
 * }
 *
 * let receiver: Receiver | undefined;
 *
 * export default {
 *   async fetch(
 *     request: Request,
 *     env: Env,
 *     context: { waitUntil(work: Promise<unknown>): void },
 *   ): Promise<Response> {
 *     receiver ??= createReceiver({
 *       name: "billing",
 *       secret: env.SVC_WEBHOOK_SECRET,
 *       store: durableObjectStore(env.DELIVERIES),
 *       on: { "*": (event) => console.log(event.type) },
 *     });
 *     return receiver.fetch(request, env, context);
 *   },
 * };
 * ```
 */
export function durableObjectStore<Id>(
  namespace: DeliveryRecordsNamespace<Id>,
  options: DurableObjectStoreOptions = {},
): DeliveryStore {
  assertOptions(options, ["shards"]);
  const { shards = 16 } = options;
  assertValid(
    Number.isInteger(shards) && shards >= 1 && shards <= 1_024,
    "shards",
    "`shards` must be a whole number from 1 to 1024.",
  );
  // Checked at run time, because `env.X` is undefined if wrangler.jsonc does not bind X.
  assertValid(
    typeof (namespace as Partial<typeof namespace> | undefined)?.idFromName === "function",
    "namespace",
    "`namespace` must be a Durable Object binding from wrangler.jsonc.",
  );
  const shard = (index: number) => namespace.get(namespace.idFromName(`shard ${index}`));
  // Keeps the value instead of its promise, because a Worker must not await a promise that another request has created.
  let agreed: number | undefined;

  /**
   * Rejects if the namespace was set up with another number of shards. If it has not been set up, sets it up with
   * `proposed`, unless that is undefined.
   */
  const agree = async (proposed?: number) => {
    agreed ??= await shard(0).agreeOnShards(proposed);
    if ((agreed ?? shards) !== shards) {
      throw new Error(
        `This namespace was set up with ${agreed} shards. Set \`shards\` to ${agreed}.`,
      );
    }
  };

  /** Returns the index of the shard that keeps the record of a key. Keys are hexadecimal hashes. */
  const indexOf = (key: string) => (Number.parseInt(key.slice(0, 8), 16) || 0) % shards;

  const shardOf = async (key: string) => {
    await agree(shards);
    return shard(indexOf(key));
  };

  return {
    shared: true,
    claim: async (key, request) => (await shardOf(key)).claim(key, request),
    complete: async (key, request) => (await shardOf(key)).complete(key, request),
    release: async (key, request) => (await shardOf(key)).release(key, request),
    extend: async (key, request) => (await shardOf(key)).extend(key, request),
    forget: async (key) => (await shardOf(key)).forget(key),
    async peek(keys) {
      await agree();
      const byShard = new Map<number, string[]>();
      for (const key of new Set(keys)) {
        const index = indexOf(key);
        byShard.set(index, [...(byShard.get(index) ?? []), key]);
      }
      const states = new Map<string, RecordState | undefined>();
      const read = async ([index, some]: readonly [number, readonly string[]]) => {
        const shardStates = await shard(index).peek(some);
        // Compares the lengths, because a missing state would look like a missing record.
        if (shardStates.length !== some.length) throw new Error(`Shard ${index} left out states.`);
        some.forEach((key, position) => states.set(key, shardStates[position]));
      };
      await Promise.all(Array.from(byShard, read));
      return keys.map((key) => states.get(key));
    },
  };
}
