import type { Connection } from "./connection.js";
import { isReadOnly } from "./replica.js";
import { probe } from "./scripts.js";

const toleratedDriftMs = 1_000;

/**
 * What is wrong with a server's set-up for deliveries that must not be forgotten, in plain words.
 * `key` is one that has no record.
 */
export async function checkServer(
  { run, setting }: Connection,
  key: string,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const [now, ...refusal] = String(await run(probe, [key], [])).split(" ");
  if (isReadOnly(refusal.join(" "))) {
    problems.push(
      "this server is a replica and refuses writes, so every new delivery gets 503; connect to the primary, at an address that follows it",
    );
  }
  const driftMs = Math.abs(Number(now) - Date.now());
  if (driftMs > toleratedDriftMs) {
    problems.push(
      `the server's clock is ${Math.round(driftMs / 1_000)} s away from this machine's`,
    );
  }
  try {
    const policy = await setting("maxmemory-policy");
    if (policy !== "noeviction") {
      problems.push(`maxmemory-policy is ${policy}: records may be evicted; set noeviction`);
    }
    const isAppended = (await setting("appendonly")) === "yes";
    if (!isAppended && !(await setting("save"))) {
      problems.push("nothing is persisted: a restart forgets what was done; set appendonly yes");
    }
  } catch (error) {
    const reason = (error as Error | undefined)?.message ?? error;
    problems.push(`eviction and persistence could not be checked: ${String(reason)}`);
  }
  return problems;
}
