import type { Ledger } from "../../assumptions/ledger.js";
import { isOccasion } from "../../assumptions/table.js";
import { isEventType } from "../../delivery/event-types.js";
import { recipientsOf } from "../../delivery/raise.js";
import { slotsLeft } from "../../faults.js";
import { iso } from "../../lib/iso.js";
import type { World } from "../../world.js";
import type { DeliveryRecord, EventRecord } from "../../state/records.js";
import type { Table } from "../../state/table.js";
import type { Finding, FindingCode } from "./finding.js";
import { receivers } from "./receivers.js";
import { faultText } from "../shapes.js";

/** A request that no route serves, such as `POST /emails`: not a read, and not below `/v1/` or `/_sandbox/`. */
export interface Stray {
  readonly method: string;
  readonly path: string;
  readonly at: number;
}

const mostFindings = 5;

/** The maximum number of calls, of events and of sends that are checked. Older ones are not checked. */
const recent = 200;

const order = ["error", "warning", "info"];

/**
 * The codes for which only the worst finding is returned. All findings with such a code usually have the same cause.
 */
const single: ReadonlySet<FindingCode> = new Set([
  "no_endpoint",
  "type_not_subscribed",
  "all_archived",
  "not_emitted",
  "url_registered_twice",
  "wrong_base_url",
]);

/**
 * Returns the problems that still exist: at most five, the worst first. Among equally severe problems, those of
 * receivers come first.
 */
export function findings(world: World, stray: Stray | undefined): readonly Finding[] {
  const seen = new Set<FindingCode>();
  return [
    ...receivers(world),
    ...rejectedCalls(world, stray),
    ...unsentEvents(world),
    ...faults(world),
    ...relay(world),
    ...waiting(world),
  ]
    .toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))
    .filter(({ code }) => {
      const isRepeated = single.has(code) && seen.has(code);
      seen.add(code);
      return !isRepeated;
    })
    .slice(0, mostFindings);
}

const newest = <Item>(table: Table<Item>): readonly Item[] =>
  table.list().slice(-recent).toReversed();

function* rejectedCalls({ state }: World, stray: Stray | undefined): Iterable<Finding> {
  const calls = newest(state.calls).filter(({ path }) => path.startsWith("/v1/"));
  const last = calls.find(({ method }) => method === "POST");
  const [read] = calls;
  const wrongBaseUrl = {
    code: "wrong_base_url",
    fix: "Set your client's base URL to the sandbox's base URL, without a path.",
    route: "GET /_sandbox/overview",
  } as const;
  if (stray && stray.at >= (last?.at ?? 0)) {
    yield {
      ...wrongBaseUrl,
      severity: "error",
      happened: `The sandbox received ${stray.method} ${stray.path}, but the interface's paths begin with /v1/.`,
    };
  } else if (read && !last) {
    yield {
      ...wrongBaseUrl,
      severity: "warning",
      happened: "The sandbox has received no POST request.",
      cause: "Requests that create something may be going to another base URL.",
      item: read.id,
    };
  }
  if (last && last.status >= 400 && last.status <= 499) {
    yield {
      code: "call_rejected",
      severity: "error",
      happened: `The last POST request, to ${last.path.slice(0, 200)}, was refused with ${last.status} ${last.code ?? ""}. It had no effect.`,
      item: last.id,
      fix: "Read the response.",
      route: `GET /_sandbox/calls/${last.id}`,
    };
  }
}

/**
 * Yields a finding for the newest event of each account and type, if the event went to no endpoint and would still go
 * to none.
 */
function* unsentEvents(world: World): Iterable<Finding> {
  const seen = new Set<string>();
  for (const event of newest(world.state.events)) {
    const key = `${event.account} ${event.type}`;
    if (seen.has(key)) continue;
    seen.add(key);
    if (event.notSent === undefined) continue;
    const finding = unsent(world, event);
    if (!finding) continue;
    yield { ...finding, item: event.id, severity: severityOf(world, event, finding.code) };
  }
}

/**
 * Returns `info` for an event that the developer probably does not need: a domain event to which no endpoint
 * subscribes, or an event of a call that also raised an event with deliveries. Returns `error` for any other event.
 */
function severityOf({ state }: World, { callId, sendId }: EventRecord, code: FindingCode) {
  const others = state.calls.get(callId)?.events ?? [];
  const isUnwanted =
    (code === "type_not_subscribed" && sendId === undefined) ||
    others.some((id) => state.events.get(id)?.deliveries.length);
  return isUnwanted ? ("info" as const) : ("error" as const);
}

/** Returns the part of a finding whose fix is to register an endpoint. */
const register = (fix: string, type: string) => ({
  fix,
  route: "POST /_sandbox/endpoints",
  body: { url: "…", event_types: [type] },
});

function unsent(
  world: World,
  { type, account, notSent: earlier }: EventRecord,
): Omit<Finding, "severity"> | undefined {
  if (earlier === "not_emitted") return notEmitted(world.ledger, type);
  const { notSent } = recipientsOf(world, account, type);
  if (notSent === undefined) return undefined;
  if (notSent === "no_endpoint") {
    const happened = `${type} was raised, but no endpoint is registered.`;
    return { code: notSent, happened, ...register("Register an endpoint.", type) };
  }
  if (notSent === "type_not_subscribed") {
    const advice =
      "Register another endpoint, because the event types of an endpoint cannot be changed.";
    const happened = `${type} was raised, but no endpoint subscribes to it.`;
    return { code: notSent, happened, ...register(advice, type) };
  }
  const happened = `${type} was raised, but all endpoints that subscribe to it are archived.`;
  return { code: "all_archived", happened, ...register("Register a new endpoint.", type) };
}

/** Returns the part of a finding whose fix is to set an assumption. */
const set = (id: string, value: string, also = "") => ({
  fix: `Set ${id}=${value}${also}.`,
  route: `POST /_sandbox/assumptions/${id}`,
  body: { value },
});

/**
 * Returns the finding for an event that was not raised, or undefined if it would be raised now.
 * @param type the event's type, or its occasion if A-04 had no type for that
 */
function notEmitted(ledger: Ledger, type: string): Omit<Finding, "severity"> | undefined {
  const code = "not_emitted";
  if (isOccasion(type)) {
    if (ledger.get("event.emits")[type] !== undefined) return undefined;
    return { code, happened: `No event is raised for ${type} (A-04).`, ...set("A-04", "named") };
  }
  if (!isEventType(ledger, type)) {
    return {
      code,
      happened: `${type} was not raised, because it is not an event type (A-03).`,
      ...set("A-03", `extra:${[...ledger.get("eventTypes"), type].join(",")}`),
    };
  }
  if (ledger.list().find(({ id }) => id === "A-07")?.value !== "custom") return undefined;
  return {
    code,
    happened: `${type} was raised, but the function for its body (A-07) threw an error.`,
    ...set("A-07", "envelope", ", or fix the function"),
  };
}

/** Yields a finding if the newest email with a relay result could not be relayed. */
function* relay({ state }: World): Iterable<Finding> {
  for (const { id, history } of newest(state.sends)) {
    const note = history.findLast((entry) => entry.note?.startsWith("relay"))?.note;
    if (note === undefined) continue;
    const [, cause] = /^relay failed: (.+)$/.exec(note) ?? [];
    if (cause === undefined) return;
    yield {
      code: "relay_failed",
      severity: "warning",
      happened: `The newest email was not relayed: ${cause}.`,
      item: id,
      fix: "Check the SMTP server that the option `smtp` names, and send another email.",
      route: "POST /_sandbox/test-email",
    };
    return;
  }
}

function* faults({ state }: World): Iterable<Finding> {
  const seen = new Set<string>();
  for (const fault of state.faults.all()) {
    const left = slotsLeft(fault);
    if (left === 0 || seen.has(fault.target)) continue;
    seen.add(fault.target);
    yield {
      code: "fault_waiting",
      severity: "warning",
      happened: `A fault applies to the next ${left === 1 ? "use" : `${left} uses`} of ${fault.target}: ${faultText(fault)}.`,
      item: fault.id,
      fix: "Cancel the fault.",
      route: `POST /_sandbox/faults/${fault.id}/cancel`,
    };
  }
}

function* waiting({ state, clock }: World): Iterable<Finding> {
  if (state.tally.deliveries.pending === 0) return;
  const now = clock.now();
  let first: DeliveryRecord | undefined;
  let count = 0;
  for (const delivery of state.deliveries.all()) {
    if ((delivery.nextAttemptAt ?? 0) <= now) continue;
    count += 1;
    if ((delivery.nextAttemptAt ?? 0) < (first?.nextAttemptAt ?? Infinity)) first = delivery;
  }
  if (!first) return;
  const what = count === 1 ? "1 delivery is waiting" : `${count} deliveries are waiting`;
  const at = iso(first.nextAttemptAt ?? 0);
  const isStill = clock.mode === "manual";
  const still = isStill ? ", and the clock stands still until you move it" : "";
  yield {
    code: isStill ? "clock_stands_still" : "waiting",
    severity: isStill ? "warning" : "info",
    happened: `${what}${still}. The next attempt is due at ${at}.`,
    item: first.id,
    fix: "Move the clock to the next attempt.",
    route: "POST /_sandbox/clock",
    body: { to: "next" },
  };
}
