import type { StoreCall } from "@svc-webhooks/core";
import type { Script } from "./scripts.js";

/**
 * Runs a script on its keys. This is the only call that the store makes to a client. Must reject immediately
 * while the client is not connected; no call may wait in a queue for an unreachable server. The signal of
 * `call` is aborted at its deadline. A connection that does not reply may have died silently: leave it when
 * calls, and then a question such as `TIME`, have had no reply for a few seconds.
 */
export type RunScript = (
  script: Script,
  keys: readonly string[],
  args: readonly string[],
  call: StoreCall,
) => Promise<unknown>;

/** Reads a setting of the server. Rejects if that is forbidden. */
export type ReadSetting = (name: string) => Promise<string | undefined>;

export interface Connection {
  readonly run: RunScript;
  readonly setting: ReadSetting;
}
