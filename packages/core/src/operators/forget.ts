import type { ForgetTarget } from "../delivery.js";
import type { Config } from "../setup/config.js";
import { operatorCall } from "./operator-call.js";
import { targetKey } from "./target-key.js";

/** Removes a delivery's record. Resolves to false if there is none or its lease is alive. */
export async function forget(config: Config, target: ForgetTarget): Promise<boolean> {
  const key = await targetKey(config, target);
  return operatorCall(config, "forget", (call) => config.store.forget(key, call));
}
