import { attemptRange } from "../lib/attempt-range.js";
import type { Settings, SuccessRule } from "../assumptions/table.js";
import { messageOf } from "../errors.js";
import { faultDelayMs, faultStatus } from "../faults.js";
import { realNow } from "../lib/timers.js";
import type {
  ReceivedResponse,
  Failure,
  HeaderList,
  OutgoingRequest,
  Sent,
  Transport,
} from "../network/transport.js";
import type { World } from "../world.js";
import {
  type AttemptRecord,
  type DeliveryRecord,
  type EndpointRecord,
  type FaultRecord,
  type Tamper,
  type Trigger,
} from "../state/records.js";
import { mutated } from "./mutate.js";
import { deliveryHeaders, signature, signingSecret } from "./signing.js";
import { tampered } from "./tamper.js";
import { createTimeLimit } from "./time-limit.js";

/** An attempt to make. */
export interface AttemptOrder {
  readonly trigger: Trigger;
  /** The tampering that the developer requested. It replaces a fault's tampering. */
  readonly tamper?: Tamper | undefined;
  /** The fault to apply. Default: the endpoint's next fault. */
  readonly fault?: FaultRecord | undefined;
}

/** The facts that are fixed when an attempt starts. Later changes to records and assumptions do not affect them. */
interface Attempt extends AttemptOrder {
  readonly delivery: DeliveryRecord;
  readonly endpoint: EndpointRecord;
  readonly number: number;
  readonly startedAt: number;
  /** The real time of the start, in milliseconds. */
  readonly startedReal: number;
  readonly secret: string;
  readonly rule: SuccessRule;
}

/**
 * Makes single attempts in three steps: starts one, sends its request within the time limit, and records the results.
 * It does not schedule attempts.
 */
export function createAttempts(world: World, transport: Transport) {
  const { state, clock, ledger, ids } = world;
  const timeLimit = createTimeLimit(clock);
  let isClosed = false;

  /** Whether the sandbox was closed, or the delivery was removed or replaced, for example by a reset. */
  const isGone = (delivery: DeliveryRecord) =>
    isClosed || state.deliveries.get(delivery.id) !== delivery;

  return {
    isGone,
    /** Gives a delivery a new X-SVC-Delivery-Id, and counts its attempts from 1 again. */
    renew(delivery: DeliveryRecord): void {
      delivery.deliveryId = ids.next("dlv");
      delivery.attempt = 0;
    },
    /**
     * Makes one attempt and records it. The endpoint's next fault applies to it, unless `order` has a fault. An error
     * while the request is signed or sent becomes the attempt's result. Resolves to undefined, and records nothing, if
     * the sandbox was closed, or if the delivery or its endpoint is gone.
     */
    async make(delivery: DeliveryRecord, order: AttemptOrder): Promise<AttemptRecord | undefined> {
      const endpoint = state.endpoints.get(delivery.endpointId);
      if (!endpoint || isGone(delivery)) return undefined;
      const attempt = start(world, delivery, endpoint, order);
      const signing = requestOf(attempt, ledger.get("secret.key"));
      const results = await timeLimit
        .run(delivery.id, attempt.rule.timeoutMs, async (signal) =>
          sendUnder(transport, clock, attempt.fault, await signing, delivery.id, signal),
        )
        .catch(notSent);
      const request = await signing.catch(() => unsigned(attempt));
      return isGone(delivery) ? undefined : record(world, attempt, request, results);
    },
    /** Aborts all running attempts, which then end as timeouts. */
    stop: (): void => timeLimit.stop(),
    /** Aborts all running attempts, which then count as not made. */
    close(): void {
      isClosed = true;
      timeLimit.stop();
    },
  };
}

/** Starts an attempt: counts it, and chooses its fault, its tampering and its secret. */
function start(
  { state, ledger, clock, faults }: World,
  delivery: DeliveryRecord,
  endpoint: EndpointRecord,
  { trigger, ...order }: AttemptOrder,
): Attempt {
  delivery.attempt += 1;
  const startedAt = clock.now();
  const fault = order.fault ?? faults.take(endpoint.id, delivery.id);
  const rotation = ledger.get("rotation");
  const secret = signingSecret(endpoint, delivery.pinnedSecret, rotation, startedAt);
  if (rotation.mode === "pinned") delivery.pinnedSecret ??= secret;
  state.deliveries.put(delivery);
  return {
    delivery,
    endpoint,
    trigger,
    number: delivery.attempt,
    startedAt,
    startedReal: realNow(),
    fault,
    tamper: order.tamper ?? faultTamper(fault),
    secret,
    rule: ledger.get("delivery.success"),
  };
}

/** Returns an attempt's signed request. The promise rejects if the tampering is impossible. */
async function requestOf(
  { delivery, endpoint, number, fault, tamper, secret }: Attempt,
  rule: Settings["secret.key"],
): Promise<OutgoingRequest> {
  const { body, signatures } = tamper
    ? await tampered(tamper, delivery.body, endpoint, secret, rule)
    : await signed(delivery, fault, secret, rule);
  return { url: endpoint.url, headers: deliveryHeaders(delivery, number, signatures), body };
}

/** Returns the request to record for an attempt whose request could not be signed. */
const unsigned = ({ delivery, endpoint }: Attempt): OutgoingRequest => ({
  url: endpoint.url,
  headers: [],
  body: delivery.body,
});

/**
 * Records the results of an attempt: two if a fault duplicated it, otherwise one. Returns the record of the first
 * successful result, or else of the first result.
 */
function record(
  { state, clock }: World,
  { delivery, number, trigger, startedAt, startedReal, tamper, fault, rule }: Attempt,
  { url, headers, body }: OutgoingRequest,
  results: readonly Sent[],
): AttemptRecord | undefined {
  const realMs = Math.round(realNow() - startedReal);
  const ms = clock.mode === "manual" ? Math.max(clock.now() - startedAt, realMs) : realMs;
  const records = results.map((sent) => {
    const attempt: AttemptRecord = {
      n: attemptRange(delivery.attempts).last + 1,
      attempt: number,
      trigger,
      startedAt,
      url,
      headers,
      ...(tamper === undefined ? {} : { tamper }),
      ...(body === delivery.body ? {} : { body }),
      ...(fault === undefined ? {} : { faultId: fault.id }),
      ms,
      ok: "response" in sent && isSuccess(sent.response.status, rule),
      ...("response" in sent ? { response: captured(sent.response) } : { error: sent.error }),
    };
    state.addAttempt(delivery, attempt);
    return attempt;
  });
  state.deliveries.put(delivery);
  // One success is enough, because a receiver may reject one of two copies while it processes the other.
  return records.find(({ ok }) => ok) ?? records[0];
}

/** Sends a request, or does what the fault requires instead, and returns the results. */
async function sendUnder(
  transport: Transport,
  clock: World["clock"],
  fault: FaultRecord | undefined,
  request: OutgoingRequest,
  id: string,
  signal: AbortSignal,
): Promise<readonly Sent[]> {
  switch (fault?.kind) {
    case undefined:
      return [await transport(request, signal)];
    case "status":
      return [{ response: faultResponse(fault) }];
    case "refused":
      return byFault("refused", "An injected fault refused the connection.");
    case "reset":
      return byFault(
        "reset",
        "An injected fault closed the connection before the receiver was called.",
      );
    case "response_lost":
      await transport(request, signal);
      return byFault("reset", "An injected fault dropped the receiver's response.");
    case "timeout":
      // On a manual clock, only a move of the clock ends this attempt, so the move must not wait for it.
      if (clock.mode === "manual") clock.park(id);
      return new Promise(() => {});
    case "slow":
      await new Promise<void>((resolve) => {
        const end = clock.now() + faultDelayMs(fault);
        signal.addEventListener("abort", clock.at(end, { kind: "delay", id }, resolve));
      });
      return [await transport(request, signal)];
    case "duplicate":
      return Promise.all([transport(request, signal), transport(request, signal)]);
    case "reorder":
    case "mutate":
      return [await transport(request, signal)];
    case "drop":
      return fault.result === "succeeded"
        ? [{ response: faultResponse(fault, 200) }]
        : byFault("dropped", "An injected fault dropped the delivery. Nothing was sent.");
  }
}

/** Returns the tampering that a fault causes. A changed body that is signed again does not count as tampering. */
const faultTamper = (fault: FaultRecord | undefined): Tamper | undefined =>
  fault?.kind === "mutate" && !fault.signAgain ? "flipped_byte" : undefined;

async function signed(
  delivery: DeliveryRecord,
  fault: FaultRecord | undefined,
  secret: string,
  rule: Settings["secret.key"],
) {
  const body = fault?.signAgain ? mutated(delivery.body) : delivery.body;
  return { body, signatures: [await signature(body, secret, rule)] };
}

const byFault = (kind: Failure["kind"], text: string) => [{ error: { kind, text } }];

const notSent = (error: unknown): readonly Sent[] => [
  { error: { kind: "protocol", text: `The request cannot be sent: ${messageOf(error)}` } },
];

const isSuccess = (status: number, { only200 }: SuccessRule) =>
  only200 ? status === 200 : status >= 200 && status <= 299;

const captured = ({ status, headers, body, bytes, truncated }: ReceivedResponse) => ({
  status,
  headers,
  body: { content: body, bytes, truncated },
});

function faultResponse(fault: FaultRecord, status = faultStatus(fault)): ReceivedResponse {
  const { retryAfter } = fault;
  const body = new TextEncoder().encode(
    "This response was produced by a fault injected in the sandbox.\n",
  );
  const headers: HeaderList = [
    ["Content-Type", "text/plain"],
    ...(retryAfter === undefined ? [] : ([["Retry-After", String(retryAfter)]] as const)),
  ];
  return { status, headers, body, bytes: body.length, truncated: false };
}
