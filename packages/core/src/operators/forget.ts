import type { ForgetTarget } from "../delivery.js";
import type { Config } from "../setup/config.js";
import { operatorCall } from "./operator-call.js";
import { targetKey } from "./target-key.js";

/** Removes the record of a delivery from the store. */
export async function forget(config: Config, target: ForgetTarget): Promise<boolean> {
  const key = await targetKey(config, target);
  return operatorCall(config, "forget", (call) => config.store.forget(key, call));
}
