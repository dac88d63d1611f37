import type { Connection } from "./connection.js";
import { clock } from "./scripts.js";

const toleratedDriftMs = 1_000;

/** What is wrong with a server's set-up for deliveries that must not be forgotten, in plain words. */
export async function checkServer({ run, setting }: Connection): Promise<readonly string[]> {
  const problems: string[] = [];
  const driftMs = Math.abs(Number(await run(clock, [], [])) - Date.now());
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
