import type { z } from "zod";
import { lastTime } from "../clock.js";
import { conflict, invalid } from "../errors.js";
import { slotsLeft } from "../faults.js";
import { validate } from "../http/validate.js";
import { operations } from "../service/operations.js";
import { sendFields } from "../service/resources.js";
import { emailRequest } from "../service/schemas.js";
import { acceptSend } from "../service/sends.js";
import type { Service } from "../service/service.js";
import type { AccountId, CallRecord, DeliveryRecord, FaultRecord } from "../state/records.js";
import type { clockRequest, faultRequest, sendRequest, testEmailRequest } from "./requests.js";
import { clockShape, deliveryShape } from "./shapes.js";

type Result = { readonly status: number; readonly body: unknown };

/** Runs a public operation for an account, with all that it checks. */
export async function perform(
  service: Service,
  id: string,
  account: AccountId,
  call: CallRecord,
  input: { readonly params?: Readonly<Record<string, string>>; readonly body?: unknown },
): Promise<Result> {
  const operation = operations.find((one) => one.id === id);
  if (!operation) throw new Error(`There is no operation ${id}.`);
  const body = operation.request && validate(operation.request, input.body);
  const { params = {} } = input;
  const result = await operation.run(service, { account, params, body, query: {}, call });
  return { status: result.status ?? operation.status, body: result.body };
}

/** Sends a delivery on request; an edited body is sent as a delivery of its own. */
export function sendByHand(
  service: Service,
  delivery: DeliveryRecord,
  { times, at_once: atOnce, tamper, body }: z.output<typeof sendRequest>,
): object {
  const endpoint = service.state.endpoints.get(delivery.endpointId);
  if (endpoint?.status !== "active")
    throw conflict("The endpoint is archived, so nothing is delivered to it.");
  if (tamper === "previous_secret" && endpoint.previous === undefined)
    throw conflict("The endpoint has no previous secret. Rotate its secret first.");
  if (tamper === "reserialised" && !isJson(body ?? delivery.body))
    throw invalid("tamper", "The body is not JSON, so it cannot be serialised again.");
  const sent = body === undefined ? delivery : edited(service, delivery, body);
  service.engine.sendByHand(sent, { times, atOnce, tamper });
  return { attempts: times, delivery: deliveryShape(service, sent) };
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}

function edited(
  { state, ids, clock }: Service,
  delivery: DeliveryRecord,
  body: Uint8Array,
): DeliveryRecord {
  const id = ids.next("dlv");
  const copy = state.deliveries.put({
    ...delivery,
    id,
    seq: state.nextSeq(),
    eventId: ids.next("evt"),
    deliveryId: id,
    createdAt: clock.now(),
    // Until its attempt succeeds: no attempt is scheduled, so a restart must not find it pending.
    state: "failed",
    trigger: "by_hand",
    nextAttemptAt: undefined,
    resumeAt: undefined,
    pinnedSecret: undefined,
    retries: 0,
    attempt: 0,
    edited: true,
    body,
    attempts: [],
  });
  const event = state.events.get(delivery.sourceEventId);
  if (event) {
    event.deliveries.push(id);
    state.events.put(event);
  }
  return copy;
}

/** Accepts an email as the public operation does. */
export function sendTestEmail(
  service: Service,
  account: AccountId,
  call: CallRecord,
  { to = "ada@example.test", subject = "Test email", scenario }: z.output<typeof testEmailRequest>,
): object {
  const text = "This email was sent from the sandbox.";
  const email = validate(emailRequest, {
    from: "test@sandbox.test",
    to: typeof to === "string" ? [to] : to,
    subject,
    text,
    html: `<p>${text}</p>`,
  });
  return sendFields(acceptSend(service, account, call, email, scenario), "accepted");
}

export async function changeClock(
  service: Service,
  { advance_ms, mode, speed }: z.output<typeof clockRequest>,
): Promise<object> {
  const { clock } = service;
  if (mode !== undefined) {
    clock.setMode(mode, speed);
    return clockShape(service);
  }
  if (advance_ms === undefined) return clockShape(service, await clock.advanceToNext());
  if (clock.now() + advance_ms > lastTime)
    throw invalid("advance_ms", "The clock ends with the year 9999. Use a smaller number.");
  await clock.advance(advance_ms);
  return clockShape(service);
}

/** Faults that are remembered, used or not. */
const mostFaults = 1_000;

export function addFault(
  { state, faults }: Service,
  { target, kind, times, status, retry_after, delay_ms }: z.output<typeof faultRequest>,
): FaultRecord {
  if (!target.startsWith("we_") && !routes.has(target)) {
    throw invalid(
      "target",
      `target must be an endpoint we_… or one of: ${[...routes].join(", ")}.`,
    );
  }
  if (state.faults.size >= mostFaults) {
    const finished = Array.from(state.faults.all()).find((fault) => slotsLeft(fault) === 0);
    if (!finished) throw conflict(`There are ${mostFaults} faults. Cancel some, or reset.`);
    state.faults.drop(finished.id);
  }
  return faults.add({
    target,
    kind,
    times,
    ...(kind === "status" ? { status: status ?? 500, retryAfter: retry_after } : {}),
    ...(kind === "slow" ? { delayMs: delay_ms } : {}),
  });
}

const routes: ReadonlySet<string> = new Set(
  operations.map(({ method, path }) => `${method} ${path}`),
);
