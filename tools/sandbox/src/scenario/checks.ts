import { isGenuine } from "../state/tally.js";
import type { Service } from "../service/service.js";
import type { AttemptRecord, DeliveryRecord } from "../state/records.js";
import type { ExpectStep, FindStep } from "./format.js";

type Expected = ExpectStep["expect"];
type Selection = FindStep["find"];

/** The result of a check. Two runs with the same behavior have equal results. */
export interface Checked {
  readonly met: boolean;
  readonly found: string;
}

/** Returns the deliveries that match a selection and have a `seq` above `firstSeq`, oldest first. */
export const selected = (
  { state }: Service,
  firstSeq: number,
  { endpoint, type, state: result }: Partial<Selection>,
): readonly DeliveryRecord[] =>
  state.deliveries
    .list()
    .filter(
      (delivery) =>
        delivery.seq > firstSeq &&
        (endpoint === undefined || delivery.endpointId === endpoint) &&
        (type === undefined || delivery.type === type) &&
        (result === undefined || delivery.state === result),
    );

/** Compares the deliveries or attempts with an expectation whose references have been replaced. */
export function check(service: Service, firstSeq: number, expected: Expected): Checked {
  const { deliveries, attempts } = expected;
  if (deliveries) {
    const { length } = selected(service, firstSeq, deliveries);
    const { endpoint, type } = deliveries;
    const all = selected(service, firstSeq, { endpoint, type });
    const others = counted(all.map(({ state }) => state));
    const results = failures(
      service,
      all.flatMap((delivery) => delivery.attempts),
    );
    return { met: isMet(length, deliveries), found: `${length}${others}${results}` };
  }
  const { endpoint, type, ok, status, error, fault, trigger, ...amount } = attempts ?? {};
  const all = selected(service, firstSeq, { endpoint, type }).flatMap(
    (delivery) => delivery.attempts,
  );
  const { length } = all.filter(
    (attempt) =>
      (ok === undefined || attempt.ok === ok) &&
      (status === undefined || attempt.response?.status === status) &&
      (error === undefined || attempt.error?.kind === error) &&
      (fault === undefined || (attempt.faultId !== undefined) === fault) &&
      (trigger === undefined || attempt.trigger === trigger),
  );
  return { met: isMet(length, amount), found: `${length}${failures(service, all)}` };
}

interface Amount {
  readonly count?: number | undefined;
  readonly at_least?: number | undefined;
  readonly at_most?: number | undefined;
}

const isMet = (found: number, { count = found, at_least = found, at_most = found }: Amount) =>
  found === count && found >= at_least && found <= at_most;

/** The kinds of faults under which the receiver still gets the genuine body, and its own response is recorded. */
const passed: ReadonlySet<string | undefined> = new Set(["slow", "duplicate", "reorder"]);

/** Describes the receiver's own failures, without those that a fault or tampering caused. */
function failures({ state }: Service, attempts: readonly AttemptRecord[]): string {
  const isOwn = (attempt: AttemptRecord) =>
    isGenuine(attempt) ||
    (attempt.response !== undefined && passed.has(state.faults.get(attempt.faultId ?? "")?.kind));
  const failed = attempts.filter((attempt) => !attempt.ok && isOwn(attempt));
  const results = failed.map(({ response, error }) =>
    response ? `status ${response.status}` : (error?.kind ?? "no response"),
  );
  return results.length === 0 ? "" : `; the receiver's failures:${counted(results)}`;
}

function counted(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const parts = [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return parts.length === 0 ? "" : ` (${parts.map(([word, n]) => `${n} × ${word}`).join(", ")})`;
}

/** Describes an expectation as the file contains it, with its references. */
export function textOf({ expect: { deliveries, attempts }, within }: ExpectStep): string {
  const { count, at_least: least, at_most: most, ...filter } = deliveries ?? attempts ?? {};
  const amounts = [
    ...(count === undefined ? [] : [`exactly ${count}`]),
    ...(least === undefined ? [] : [`at least ${least}`]),
    ...(most === undefined ? [] : [`at most ${most}`]),
  ];
  const filters = Object.entries(filter)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${String(value)}`);
  const what = deliveries ? "deliveries" : "attempts";
  const where = filters.length === 0 ? "" : ` with ${filters.join(", ")}`;
  const limit = within === undefined ? "" : `, within ${within}`;
  return `${what}${where}: ${amounts.join(" and ")}${limit}`;
}
