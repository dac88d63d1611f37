import type { StoreCall } from "@svc-webhooks/core";
import type { Connection } from "../connection.js";
import { isReadOnly, messageOf } from "./replica.js";
import { probe } from "../scripts.js";

const toleratedDriftMs = 1_000;

const rightsText = "The README of @svc-webhooks/redis lists the required ACL.";

/**
 * Returns whether an error message reports that the user may not run a command. If a script runs the command, the
 * wording differs between Redis 6.2 and 7.0.
 */
const isForbidden = (message: string): boolean =>
  /NOPERM|can't run this command|ACL failure/.test(message);

/**
 * Resolves to one text for each condition that endangers records. `key` must not belong to a record, because the check
 * deletes it.
 */
export async function checkServer(
  { run, setting }: Connection,
  key: string,
  call: StoreCall,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const reply = await run(probe, [key], [], call).catch((error: unknown) => {
    if (isForbidden(messageOf(error))) return messageOf(error);
    throw error;
  });
  const [now, ...refusal] = String(reply).split(" ");
  if (isForbidden(String(reply))) {
    return [
      `The user lacks permissions, so no new delivery can be recorded: ${String(reply).replace(/\.$/, "")}. ${rightsText}`,
    ];
  }
  if (isReadOnly(refusal.join(" "))) {
    problems.push(
      "This server is a replica and rejects writes, so no new delivery can be recorded. Connect to the primary through an address that follows failovers.",
    );
  }
  const driftMs = Math.abs(Number(now) - Date.now());
  if (driftMs > toleratedDriftMs) {
    problems.push(
      `The server's clock differs from this machine's by ${Math.round(driftMs / 1_000)} s. Synchronize both clocks.`,
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
    const reason = String((error as Error | undefined)?.message ?? error);
    problems.push(
      `The eviction and persistence settings could not be checked: ${reason}${isForbidden(reason) ? `. ${rightsText}` : ""}`,
    );
  }
  return problems;
}
