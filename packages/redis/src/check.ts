import type { Connection } from "./connection.js";
import { isReadOnly } from "./replica.js";
import { probe } from "./scripts.js";

const toleratedDriftMs = 1_000;

/**
 * Lists the server settings that endanger records, one sentence each. `key` must have no record.
 */
export async function checkServer(
  { run, setting }: Connection,
  key: string,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const [now, ...refusal] = String(await run(probe, [key], [])).split(" ");
  if (isReadOnly(refusal.join(" "))) {
    problems.push(
      "This server is a replica and rejects writes, so every new delivery gets 503. Connect to the primary, at an address that follows it.",
    );
  }
  const driftMs = Math.abs(Number(now) - Date.now());
  if (driftMs > toleratedDriftMs) {
    problems.push(
      `The server's clock differs from this machine's by ${Math.round(driftMs / 1_000)} s. Synchronise both.`,
    );
  }
  try {
    const policy = await setting("maxmemory-policy");
    if (policy !== "noeviction") {
      problems.push(
        `maxmemory-policy is ${policy}, so records may be evicted. Set it to noeviction.`,
      );
    }
    const isAppended = (await setting("appendonly")) === "yes";
    if (!isAppended && !(await setting("save"))) {
      problems.push("Nothing is persisted, so a restart loses all records. Set appendonly to yes.");
    }
  } catch (error) {
    const reason = (error as Error | undefined)?.message ?? error;
    problems.push(`Eviction and persistence could not be checked: ${String(reason)}`);
  }
  return problems;
}
