import { matchRoute } from "../http/route.js";
import { nameOf, operations } from "../service/operations.js";
import type { AttemptRecord, DeliveryRecord } from "../state/records.js";
import type { World } from "../world.js";

/** Returns the ids of the assumptions that explain the state of a delivery. */
export function assumptionsOf({ state, attempts, trigger }: DeliveryRecord): readonly string[] {
  const ids = new Set<string>();
  if (state === "pending" || state === "failed") ids.add("A-09");
  if (attempts.length > 0) ids.add("A-10");
  if (trigger === "redeliver" || attempts.some((attempt) => attempt.trigger === "redeliver"))
    ids.add("A-17").add("A-18");
  if (attempts.at(-1)?.error?.kind === "url_refused") ids.add("A-21");
  return Array.from(ids).toSorted();
}

/** Returns the ids of the assumptions that affected an attempt. */
export function assumptionsBehind({ trigger, error }: AttemptRecord): readonly string[] {
  const ids = ["A-07", "A-10", "A-19", "A-20", "A-25", "A-26", "A-27"];
  if (trigger === "retry") ids.push("A-09");
  if (trigger === "redeliver") ids.push("A-17", "A-18");
  if (error?.kind === "url_refused") ids.push("A-21");
  return ids.toSorted();
}

/** Returns the ids of the assumptions that affect a call's operation, except those that affect every operation. */
export function assumptionsOfCall(
  { ledger }: World,
  { method, path }: { readonly method: string; readonly path: string },
): readonly string[] {
  const place = placeOf(method, path);
  return ledger
    .list()
    .filter(({ used_by: places }) => places.includes(place))
    .map(({ id }) => id);
}

function placeOf(method: string, path: string): string {
  try {
    return nameOf(matchRoute(operations, method, path).operation);
  } catch {
    return "";
  }
}
