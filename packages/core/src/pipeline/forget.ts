import type { ForgetTarget } from "../delivery.js";
import { withDeadline } from "../lib/deadline.js";
import type { Config } from "../setup/config.js";
import { targetKey } from "./target-key.js";

/** Removes the record of a delivery from the store. */
export async function forget(config: Config, target: ForgetTarget): Promise<boolean> {
  const { clock, store, storeTimeouts } = config;
  const key = await targetKey(config, target);
  return withDeadline(clock, storeTimeouts.release, "store.forget", (call) =>
    store.forget(key, call),
  );
}
