import type { StoreCall } from "@svc-webhooks/core";
import type { Script } from "./scripts.js";

/**
 * Runs a script on the server with these keys and arguments, and resolves to its reply. The store calls a client only
 * through this function, except to read settings. The function must reject immediately while the client is not
 * connected, so that no call waits in a queue for an unreachable server. The signal of `call` is aborted at its
 * deadline. A connection that does not reply may have died silently: replace it when calls, and then a probe such as
 * `TIME`, have received no reply for a few seconds.
 */
export type RunScript = (
  script: Script,
  keys: readonly string[],
  args: readonly string[],
  call: StoreCall,
) => Promise<unknown>;

/**
 * Resolves to the value of a server setting, or to undefined if there is none. Rejects if reading it is not permitted.
 */
export type ReadSetting = (name: string) => Promise<string | undefined>;

export interface Connection {
  readonly run: RunScript;
  readonly setting: ReadSetting;
}
