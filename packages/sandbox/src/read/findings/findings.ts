import type { Ledger } from "../../assumptions/ledger.js";
import { isOccasion } from "../../assumptions/table.js";
import { eventTypes } from "../../delivery/event-types.js";
import { slotsLeft } from "../../faults.js";
import { iso } from "../../lib/iso.js";
import type { World } from "../../world.js";
import type { DeliveryRecord, EventRecord } from "../../state/records.js";
import type { Table } from "../../state/table.js";
import { remedy, type Finding, type FindingCode } from "./finding.js";
import { receivers } from "./receivers.js";
import { faultText } from "../shapes.js";

/** A request that no route serves, outside `/v1/` and `/_sandbox/` and not a read, such as `POST /emails`. */
export interface Stray {
  readonly method: string;
  readonly path: string;
  readonly at: number;
}

const mostFindings = 5;

/** The number of calls, of events and of sends that are checked, counted from the newest. */
const recent = 200;

const order = ["error", "warning", "info"];

/**
 * The codes for which only the worst finding is returned, because all findings with such a code have the same cause.
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
  const check = remedy(
    "Set your client's base URL to the sandbox's base URL, without a path.",
    "GET /_sandbox/overview",
  );
  if (stray && stray.at >= (last?.at ?? 0)) {
    const text = `The sandbox received ${stray.method} ${stray.path}, but the interface's paths begin with /v1/.`;
    yield { code: "wrong_base_url", severity: "error", text, remedy: check };
  } else if (read && !last) {
    const text =
      "The sandbox has received no POST request. Requests that create something may be going to another base URL.";
    yield { code: "wrong_base_url", severity: "warning", text, item: read.id, remedy: check };
  }
  if (last && last.status >= 400 && last.status <= 499) {
    yield {
      code: "call_rejected",
      severity: "error",
      text: `The last POST request, to ${last.path.slice(0, 200)}, was refused with ${last.status} ${last.code ?? ""}. It had no effect.`,
      item: last.id,
      remedy: remedy("Read the response.", `GET /_sandbox/calls/${last.id}`),
    };
  }
}

/** Yields a finding for the newest event of each account and type, if it would still go to no endpoint. */
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
 * Returns `info` for events that are probably unwanted: domain events to which no endpoint subscribes, because an
 * endpoint for emails does not need them, and events of a call that also raised an event with deliveries. Returns
 * `error` for all others.
 */
function severityOf({ state }: World, { callId, sendId }: EventRecord, code: FindingCode) {
  const others = state.calls.get(callId)?.events ?? [];
  const isUnwanted =
    (code === "type_not_subscribed" && sendId === undefined) ||
    others.some((id) => state.events.get(id)?.deliveries.length);
  return isUnwanted ? ("info" as const) : ("error" as const);
}

const register = (text: string, type: string) =>
  remedy(text, "POST /_sandbox/endpoints", { url: "…", event_types: [type] });

function unsent(
  { state, ledger }: World,
  { type, account, notSent }: EventRecord,
): Omit<Finding, "severity"> | undefined {
  if (notSent === "not_emitted") return notEmitted(ledger, type);
  const endpoints = Array.from(state.endpoints.all()).filter((one) => one.account === account);
  const subscribed = endpoints.filter((endpoint) => endpoint.eventTypes.includes(type));
  if (endpoints.length === 0) {
    const text = `${type} was raised, but no endpoint is registered.`;
    return { code: "no_endpoint", text, remedy: register("Register an endpoint.", type) };
  }
  if (subscribed.length === 0) {
    const advice =
      "Register another endpoint, because the event types of an endpoint cannot be changed.";
    const text = `${type} was raised, but no endpoint subscribes to it.`;
    return { code: "type_not_subscribed", text, remedy: register(advice, type) };
  }
  if (subscribed.every(({ status }) => status === "archived")) {
    const text = `${type} was raised, but all endpoints that subscribe to it are archived.`;
    return { code: "all_archived", text, remedy: register("Register a new endpoint.", type) };
  }
  return undefined;
}

/** Returns the remedy that sets an assumption. */
const set = (id: string, value: string, also = "") =>
  remedy(`Set ${id}=${value}${also}.`, `POST /_sandbox/assumptions/${id}`, { value });

/** Returns the finding for an event that was not raised. @param type its type, or its occasion if A-04 had no type */
function notEmitted(ledger: Ledger, type: string): Omit<Finding, "severity"> | undefined {
  const code = "not_emitted";
  if (isOccasion(type)) {
    if (ledger.get("event.emits")[type] !== undefined) return undefined;
    return { code, text: `No event is raised for ${type} (A-04).`, remedy: set("A-04", "named") };
  }
  if (!eventTypes(ledger).some((known) => known.type === type)) {
    return {
      code,
      text: `${type} was not raised, because it is not an event type (A-03).`,
      remedy: set("A-03", `extra:${[...ledger.get("eventTypes"), type].join(",")}`),
    };
  }
  if (ledger.list().find(({ id }) => id === "A-07")?.value !== "custom") return undefined;
  return {
    code,
    text: `${type} was raised, but the function for its body (A-07) threw an error.`,
    remedy: set("A-07", "envelope", ", or fix the function"),
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
      text: `The newest email was not relayed: ${cause}.`,
      item: id,
      remedy: remedy(
        "Check the SMTP server that the option `smtp` names, and send another email.",
        "POST /_sandbox/test-email",
      ),
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
      text: `A fault applies to the next ${left === 1 ? "use" : `${left} uses`} of ${fault.target}: ${faultText(fault)}.`,
      item: fault.id,
      remedy: remedy("Cancel the fault.", `POST /_sandbox/faults/${fault.id}/cancel`),
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
    text: `${what}${still}. The next attempt is due at ${at}.`,
    item: first.id,
    remedy: remedy("Move the clock to the next attempt.", "POST /_sandbox/clock", { to: "next" }),
  };
}
