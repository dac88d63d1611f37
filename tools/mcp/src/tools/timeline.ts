import type { Client } from "@svc-webhooks/client";
import { followDeliveries, isOutcome, type Followed } from "@svc-webhooks/cli/workbench";
import { z } from "zod";
import type { UntrustedText } from "../refusal.js";
import { eventId } from "./inputs.js";
import { resultOf } from "./texts.js";
import { tool } from "./tool.js";

const states = ["pending", "attempting", "succeeded", "failed"] as const;

export const stateSchema = z.enum([...states, "other"]);

export type State = z.output<typeof stateSchema>;

/** Returns the state for a delivery's status: `other` if the interface does not define the status. */
export const stateOf = (status: unknown): State =>
  states.find((state) => state === status) ?? "other";

/**
 * Returns the last attempt that was not tampered with, or undefined. The refusal of a tampered attempt does not mean
 * that the delivery has failed.
 */
const lastGenuine = ({ attemptsMade = [] }: Followed) =>
  attemptsMade.findLast(({ isTampered }) => !isTampered);

/** Returns the outcome of a delivery's last genuine attempt, if the receiver stated an outcome. */
export const lastOutcome = (delivery: Followed): string | undefined => lastGenuine(delivery)?.code;

const markOf = (isTampered: boolean) => (isTampered ? " (tampered)" : "");

/** Returns one line about a delivery. Handles values of any type, because a service may send anything. */
export function lineOf(delivery: Followed): string {
  const { event_id, delivery_id, webhook_endpoint_id, type, status, created_at } = delivery;
  const { attemptsMade = [], next_attempt_at } = delivery;
  const ids = { event_id, delivery_id, endpoint: webhook_endpoint_id };
  const attempts = attemptsMade.map(
    ({ n, result, ms, isTampered }) =>
      `#${textIn(n)} ${textIn(result)} ${textIn(ms)} ms${markOf(isTampered)}`,
  );
  return [
    [created_at, type, status].map(textIn).join(" "),
    ...Object.entries(ids).map(([name, id]) => `${name}=${textIn(id)}`),
    attempts.length > 0 ? `attempts: ${attempts.join(", ")}` : "no attempts are listed",
    ...(next_attempt_at ? [`next attempt at ${textIn(next_attempt_at)}`] : []),
  ].join("; ");
}

const counts = z.object({
  pending: z.number(),
  attempting: z.number(),
  succeeded: z.number(),
  failed: z.number(),
  other: z.number(),
});

/** Returns the number of times that each state occurs in a list, 0 for states that do not occur. */
const counted = (all: readonly State[]) =>
  Object.fromEntries(
    stateSchema.options.map((option) => [option, all.filter((state) => state === option).length]),
  ) as Record<State, number>;

export const timeline = tool({
  name: "timeline",
  title: "List deliveries and their attempts",
  description:
    "Lists the newest deliveries of the service with their ids, states and attempts, newest first. With `event_id`, shows one delivery of a sandbox: its body, and the responses to its last 5 attempts.",
  input: z.strictObject({
    limit: z.int().min(1).max(50).default(20),
    event_id: eventId.optional().describe("show only this delivery, in detail"),
  }),
  facts: z.object({
    shown: z.number(),
    states: counts,
    outcomes: z
      .record(z.string(), z.number())
      .describe("outcomes of the deliveries' last attempts that were not tampered with"),
  }),
  writes: "nothing",
  async run({ service }, { limit, event_id }, signal) {
    return service.call(async (client) => {
      if (event_id !== undefined) return detail(client, event_id, signal);
      const shown: Followed[] = [];
      for await (const delivery of followDeliveries(client, undefined, signal)()) {
        if (shown.push(delivery) >= limit) break;
      }
      return {
        ...summaryOf(shown),
        untrusted: shown.map(
          (delivery, index) => [`delivery ${index + 1}`, lineOf(delivery)] as const,
        ),
      };
    }, signal);
  },
});

function summaryOf(shown: readonly Followed[]) {
  const outcomes: Record<string, number> = {};
  for (const delivery of shown) {
    const code = lastOutcome(delivery);
    if (code !== undefined) outcomes[code] = (outcomes[code] ?? 0) + 1;
  }
  const byState = counted(shown.map(({ status }) => stateOf(status)));
  const facts = { shown: shown.length, states: byState, outcomes };
  if (shown.length === 0) {
    return {
      ok: true,
      code: "no_deliveries",
      happened: "The service lists no deliveries.",
      facts,
      next_step:
        "Check that an endpoint is registered for the event type, then trigger an event and call wait_for.",
    };
  }
  const failing = shown.find((delivery) => !isGood(delivery));
  if (!failing) {
    return {
      ok: true,
      code: "no_failures",
      happened: "None of the listed deliveries has failed.",
      facts,
      next_step: "Call timeline with an event_id to see a delivery's body and responses.",
    };
  }
  return {
    ok: false,
    ...resultOf(lastOutcome(failing), {
      code: "delivery_failed",
      happened: "At least one of the listed deliveries, or its last attempt, has failed.",
    }),
    facts,
    next_step:
      "Call timeline with the event_id of a failed delivery to see its responses. After the fix, call replay.",
  };
}

/** Returns whether a delivery's state is not `failed` and its last genuine attempt, if there was one, succeeded. */
function isGood(delivery: Followed): boolean {
  const last = lastGenuine(delivery);
  if (stateOf(delivery.status) === "failed") return false;
  return (
    last === undefined || (last.status !== undefined && last.status >= 200 && last.status < 300)
  );
}

/** The maximum number of attempts of a delivery that are shown. Earlier attempts are left out. */
const mostAttempts = 5;

interface Attempted {
  readonly n?: unknown;
  readonly status?: unknown;
  readonly code?: unknown;
  readonly error?: unknown;
  readonly ms?: unknown;
  readonly tamper?: unknown;
}

async function detail({ request }: Client, id: string, signal: AbortSignal) {
  const path = `/_sandbox/deliveries/${encodeURIComponent(id)}` as const;
  const delivery = await request<{
    readonly type?: unknown;
    readonly state?: unknown;
    readonly body?: unknown;
    readonly attempts?: unknown;
  }>("GET", path, {}, { signal });
  const attempts = Array.isArray(delivery.attempts)
    ? (delivery.attempts as readonly Attempted[])
    : [];
  const untrusted: UntrustedText[] = [["type", textIn(delivery.type)]];
  for (const attempt of attempts.slice(-mostAttempts)) {
    const { n, status, error, ms, tamper } = attempt;
    const mark = markOf(tamper !== undefined);
    const shown = `${textIn(status ?? error)}, ${textIn(ms)} ms`;
    // Requests no response if `n` is not an integer, because only an integer may become part of a path.
    if (!Number.isSafeInteger(n)) {
      untrusted.push([`attempt${mark}`, shown]);
      continue;
    }
    const detailed = await request<{
      readonly response?: { readonly body?: unknown };
      readonly error?: unknown;
    }>("GET", `${path}/attempts/${Number(n)}`, {}, { signal });
    const response = textIn(detailed.response?.body ?? detailed.error);
    untrusted.push([`attempt ${Number(n)}${mark}`, `${shown}, response: ${response}`]);
  }
  untrusted.push(["body", textIn(delivery.body)]);
  const state = stateOf(delivery.state);
  const code = attempts.findLast(({ tamper }) => tamper === undefined)?.code;
  const known = isOutcome(code) ? code : undefined;
  const isDone = state === "succeeded";
  return {
    ok: isDone,
    ...resultOf(known, {
      code: `delivery_${state}`,
      happened: `The state of the delivery is ${state}.`,
    }),
    facts: {
      shown: 1,
      states: counted([state]),
      outcomes: known === undefined ? {} : { [known]: 1 },
    },
    untrusted,
    next_step: isDone
      ? "Nothing needs to be done."
      : "Fix the receiver, then call replay with this event_id, and wait_for.",
  };
}

/**
 * Returns a value as text: the `text` of a body from a sandbox, a string unchanged, `none` for undefined, and any other
 * value as JSON.
 */
function textIn(value: unknown): string {
  const { text } = Object(value) as { readonly text?: unknown };
  if (typeof text === "string") return text;
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "none");
}
