import { attemptRange } from "../lib/attempt-range.js";
import { setMaxListeners } from "node:events";
import type { Settings, SuccessRule } from "../assumptions/table.js";
import { messageOf } from "../errors.js";
import { faultDelayMs, faultStatus } from "../faults.js";
import { clearTimeout, realNow, setTimeout } from "../lib/timers.js";
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
  type FaultRecord,
  type Tamper,
  type Trigger,
} from "../state/records.js";
import { mutated } from "./mutate.js";
import { deliveryHeaders, signature, signingSecret } from "./signing.js";
import { tampered } from "./tamper.js";

/** Makes single attempts: signs, sends within the time limit, and records the result. It does not schedule them. */
export function createAttempts(world: World, transport: Transport) {
  const { state, ledger, clock, faults } = world;
  let isClosed = false;
  let stopping = new AbortController();

  /** Whether the sandbox was closed, or reset since the delivery was created. */
  const isGone = (delivery: DeliveryRecord) =>
    isClosed || state.deliveries.get(delivery.id) !== delivery;

  /**
   * Makes one attempt and records it. The endpoint's next fault applies to it, unless `applied` is given. Resolves to
   * undefined if the sandbox was closed or reset meanwhile. Never rejects.
   */
  const make = async (
    delivery: DeliveryRecord,
    trigger: Trigger,
    requested: Tamper | undefined,
    applied?: FaultRecord,
  ): Promise<AttemptRecord | undefined> => {
    const endpoint = state.endpoints.get(delivery.endpointId);
    if (!endpoint || isGone(delivery)) return undefined;
    delivery.attempt += 1;
    const number = delivery.attempt;
    const startedAt = clock.now();
    const startedReal = realNow();
    const fault = applied ?? faults.take(endpoint.id, delivery.id);
    const tamper = requested ?? faultTamper(fault);
    const rule = ledger.get("delivery.success");
    const rotation = ledger.get("rotation");
    const secret = signingSecret(endpoint, delivery.pinnedSecret, rotation, startedAt);
    if (rotation.mode === "pinned") delivery.pinnedSecret ??= secret;
    state.deliveries.put(delivery);

    let request: OutgoingRequest = { url: endpoint.url, headers: [], body: delivery.body };
    const results = await within(delivery.id, rule.timeoutMs, async (signal) => {
      const key = ledger.get("secret.key");
      const { body, signatures } = tamper
        ? await tampered(tamper, delivery.body, endpoint, secret, key)
        : await signed(delivery, fault, secret, key);
      const headers = deliveryHeaders(delivery, number, signatures);
      request = { url: endpoint.url, headers, body };
      return sendUnder(transport, clock, fault, request, delivery.id, signal);
    }).catch(notSent);
    if (isGone(delivery)) return undefined;

    const realMs = Math.round(realNow() - startedReal);
    const ms = clock.mode === "manual" ? Math.max(clock.now() - startedAt, realMs) : realMs;
    const records = results.map((sent) => {
      const record: AttemptRecord = {
        n: attemptRange(delivery.attempts).last + 1,
        attempt: number,
        trigger,
        startedAt,
        url: endpoint.url,
        headers: request.headers,
        ...(tamper === undefined ? {} : { tamper }),
        ...(request.body === delivery.body ? {} : { body: request.body }),
        ...(fault === undefined ? {} : { faultId: fault.id }),
        ms,
        ok: "response" in sent && isSuccess(sent.response.status, rule),
        ...("response" in sent ? { response: captured(sent.response) } : { error: sent.error }),
      };
      state.addAttempt(delivery, record);
      return record;
    });
    state.deliveries.put(delivery);
    // A receiver may reject one of two copies because it is still processing the other.
    return records.find(({ ok }) => ok) ?? records[0];
  };

  /** Runs `send` with a time limit. It is measured on the clock in manual mode, otherwise in real time. */
  const within = async (
    id: string,
    timeoutMs: number,
    send: (signal: AbortSignal) => Promise<readonly Sent[]>,
  ): Promise<readonly Sent[]> => {
    const text = `The receiver did not respond within ${timeoutMs / 1_000} s (A-10).`;
    const controller = new AbortController();
    let cancel: (() => void) | undefined;
    const deadline = new Promise<readonly Sent[]>((resolve) => {
      const expire = () => {
        resolve([{ error: { kind: "timeout", text } }]);
        controller.abort();
      };
      if (clock.mode === "manual") {
        cancel = clock.at(clock.now() + timeoutMs, { kind: "timeout", id }, expire);
      } else {
        const timer = setTimeout(expire, timeoutMs);
        cancel = () => clearTimeout(timer);
      }
      // Every running attempt adds a listener to this signal.
      setMaxListeners(0, stopping.signal);
      stopping.signal.addEventListener("abort", expire, { signal: controller.signal });
    });
    try {
      return await Promise.race([send(controller.signal), deadline]);
    } finally {
      cancel?.();
      // Without a reason, Node would create an exception with a stack trace for each attempt.
      controller.abort(ended);
    }
  };

  /** Aborts all running attempts. */
  const stop = () => {
    stopping.abort();
    stopping = new AbortController();
  };

  return {
    make,
    isGone,
    stop,
    /** Aborts all running attempts, which then count as not made. */
    close() {
      isClosed = true;
      stop();
    },
  };
}

/** Sends a request, or applies the fault to it. */
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
      // In the other modes, the time limit is not on the clock.
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

/** Returns the tampering that a fault causes. A changed body that is signed again is genuine. */
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

const ended = new Error("The attempt has ended.");

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
