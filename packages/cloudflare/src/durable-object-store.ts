import type { DeliveryStore } from "@svc-webhooks/core";
import type { DeliveryRecords } from "./records.js";

type Calls = Pick<
  DeliveryRecords,
  "claim" | "complete" | "release" | "extend" | "forget" | "agreeOnShards"
>;

/** An object as it is seen from a Worker: its methods, each answering a promise. */
export type DeliveryRecordsStub = {
  readonly [Name in keyof Calls]: (
    ...given: Parameters<Calls[Name]>
  ) => PromiseLike<ReturnType<Calls[Name]>>;
};

/** A binding to a Durable Object namespace, as far as it is used. */
export interface DeliveryRecordsNamespace<Id> {
  idFromName(name: string): Id;
  get(id: Id): DeliveryRecordsStub;
}

export interface DurableObjectStoreOptions {
  /**
   * Over how many objects the records are spread, 1 … 1,024. Default 16. An object takes some
   * hundred calls a second. It cannot be changed later: every record would be looked for in another
   * object, and what was done would be done again. Errors: `RangeError`.
   */
  readonly shards?: number | undefined;
}

/**
 * Records in Durable Objects, shared by all isolates of all Workers that bind the same namespace.
 * Strongly consistent: a key has one object, and an object takes one call at a time.
 *
 * Calls reject when the namespace was set up with another number of shards; the receiver answers
 * 503, so nothing is lost.
 *
 * @throws RangeError if `shards` is out of range
 */
export function durableObjectStore<Id>(
  namespace: DeliveryRecordsNamespace<Id>,
  { shards = 16 }: DurableObjectStoreOptions = {},
): DeliveryStore {
  if (!Number.isInteger(shards) || shards < 1 || shards > 1_024) {
    throw new RangeError("durableObjectStore: shards must be a whole number from 1 to 1024");
  }
  const shard = (index: number) => namespace.get(namespace.idFromName(`shard ${index}`));
  // A settled value, not its promise: a worker must not await another request's.
  let agreed: number | undefined;

  /** The object that has the records of a key. */
  const home = async (key: string) => {
    agreed ??= await shard(0).agreeOnShards(shards);
    if (agreed !== shards) {
      throw new Error(`this namespace was set up with ${agreed} shards; shards must stay that`);
    }
    // Keys are hexadecimal digits of a hash.
    return shard((Number.parseInt(key.slice(0, 8), 16) || 0) % shards);
  };

  return {
    shared: true,
    claim: async (key, request) => (await home(key)).claim(key, request),
    complete: async (key, request) => (await home(key)).complete(key, request),
    release: async (key, request) => (await home(key)).release(key, request),
    extend: async (key, request) => (await home(key)).extend(key, request),
    forget: async (key) => (await home(key)).forget(key),
  };
}
