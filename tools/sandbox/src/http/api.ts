import type { z } from "zod";
import { ApiError, asRefusal } from "../errors.js";
import { faultDelayMs, faultStatus } from "../faults.js";
import { createIdempotency, readIdempotencyKey } from "../service/idempotency.js";
import type { Operation, OperationInput, OperationResult } from "../service/operation.js";
import { nameOf, operations } from "../service/operations.js";
import { usedUp } from "../service/rate-limit.js";
import type { Service } from "../service/service.js";
import type { CallRecord, Captured, FaultRecord, IdempotencyRecord } from "../state/records.js";
import type { Retention } from "../state/retention.js";
import { authenticate, type Identity } from "./authenticate.js";
import { errorBody } from "./error-response.js";
import { newCall } from "./kept-request.js";
import { assertJson, parseJson, readBody } from "./read-body.js";
import { matchRoute, type Route } from "./route.js";
import { validate } from "./validate.js";
import { withoutSecrets } from "../lib/mask.js";
import { realNow } from "../lib/timers.js";

/** A response, or how a fault withholds it: `closed` closes the connection, `silent` leaves it open. */
export type Reply = { readonly response: Response } | { readonly lost: "closed" | "silent" };

/** The maximum number of bytes of a request or response body that the call's record keeps. */
const keptBytes = 16_384;

interface Written {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** Records a request as a new call. The caller completes the call with `respond` or `lose`. */
function beginExchange(service: Service, request: Request) {
  const { state, ledger, clock } = service;
  const startedAt = realNow();
  const era = state.era();
  const call = newCall(service, request, undefined);
  state.noteCall(call);
  /** The headers of the response. */
  const headers: Record<string, string> = {};
  const authorization = request.headers.get("authorization");
  let sent: Uint8Array = new Uint8Array();

  const finish = (received: string) => {
    // If a rewind has replaced all calls since the request began, the response is not recorded.
    if (state.era() !== era) return;
    call.ms = Math.round(realNow() - startedAt);
    service.onCall({ call, authorization, sent, received });
    state.noteCall(call);
    state.commitSoon();
  };

  return {
    call,
    headers,
    authorization,
    /** Reads the body of the request, and keeps it for `onCall`. @throws as `readBody` does */
    read: async () => (sent = await readBody(request, ledger.get("limits"))),
    /** Completes the response's headers, and records the response. */
    respond: ({ status, type, text }: Written): void => {
      headers["X-Request-Id"] = call.id;
      headers["Cache-Control"] = "no-store";
      // Clients compare a date in Retry-After with this header, so it contains the sandbox's time.
      headers["Date"] = new Date(clock.now()).toUTCString();
      if (text !== "") headers["Content-Type"] = type;
      call.status = status;
      call.response = {
        headers: Object.entries(headers),
        body: capture(new TextEncoder().encode(withoutSecrets(text))),
      };
      finish(text);
    },
    /** Completes the call without a response, because of a fault. */
    lose: (): void => {
      call.lost = true;
      finish("");
    },
  };
}

type Exchange = ReturnType<typeof beginExchange>;

/** A request that has been authenticated and matched to an operation. */
interface Arrived {
  readonly route: Route<Operation>;
  readonly request: Request;
  readonly exchange: Exchange;
  readonly account: Identity;
  readonly fault: FaultRecord | undefined;
}

interface ApiContext {
  readonly service: Service;
  readonly idempotency: ReturnType<typeof createIdempotency>;
  readonly retention: Pick<Retention, "assertRoom">;
}

/** Returns the function that serves the operations of the interface document. Its checks run in a fixed order. */
export function createApi(
  service: Service,
  retention: Pick<Retention, "assertRoom">,
): (request: Request) => Promise<Reply> {
  const { ledger, clock } = service;
  const context: ApiContext = { service, idempotency: createIdempotency(service), retention };
  return async (request) => {
    const exchange = beginExchange(service, request);
    const { call, headers } = exchange;
    let outcome: Written;
    try {
      const arrived = arrive(service, request, exchange);
      const lost = applyFault(arrived.fault, clock.now());
      if (lost) {
        exchange.lose();
        return { lost };
      }
      outcome = await perform(context, arrived);
    } catch (error) {
      const refusal = asRefusal(error, (line) => service.log(`${call.id}: ${line}`));
      Object.assign(headers, refusal.headers);
      call.code = refusal.code;
      const { type, body } = errorBody(refusal, call.id, ledger.get("errors.shape"));
      outcome = { status: refusal.status, type, text: JSON.stringify(body) };
      exchange.respond(outcome);
    }
    if (call.lost) return { lost: "closed" };
    // A response with status 304, which a fault may cause, must have no body (RFC 9110, section 15.4.5).
    const body = outcome.text === "" || outcome.status === 304 ? null : outcome.text;
    return { response: new Response(body, { status: outcome.status, headers }) };
  };
}

/**
 * Authenticates a request, counts it toward the rate limit, finds its operation, and uses the operation's next fault.
 * @throws ApiError 401, 404, 405, 429
 */
function arrive(
  { ledger, clock, faults, rateLimit }: Service,
  request: Request,
  exchange: Exchange,
): Arrived {
  const { call, headers, authorization } = exchange;
  const account = authenticate(authorization, ledger.get("auth"));
  call.account = account.id;
  Object.assign(headers, rateLimit.count(account.key, ledger.get("rateLimit"), clock.now()));
  const route = matchRoute(operations, request.method, new URL(request.url).pathname);
  const fault = faults.take(nameOf(route.operation), call.id);
  if (fault) call.faultId = fault.id;
  return { route, request, exchange, account, fault };
}

/**
 * Runs a request's operation, or finds the stored response for its idempotency key, and records the response.
 * @throws ApiError
 */
async function perform(
  { service, idempotency, retention }: ApiContext,
  { route: { operation, params }, request, exchange, account, fault }: Arrived,
): Promise<Written> {
  const { state, ledger, clock } = service;
  const { call } = exchange;
  const era = state.era();
  const key = operation.idempotent && readIdempotencyKey(request.headers.get("idempotency-key"));
  const body =
    operation.request && (await readRequest(ledger, operation.request, request, exchange));
  const query = operation.query
    ? validate(operation.query, Object.fromEntries(new URL(request.url).searchParams))
    : undefined;
  const input: OperationInput = { account: account.id, params, body, query, call };
  const respond = (outcome: Written) => {
    if (fault?.kind === "response_lost") call.lost = true;
    exchange.respond(outcome);
    return outcome;
  };
  const claim =
    key === undefined ? undefined : idempotency.begin([account.key, operation.id, key], body);
  if (claim && "fingerprint" in claim) return respond(replayed(claim, call));
  const run = () => {
    const outcome = written(operation, operation.run(service, input));
    claim?.keep({ sendId: call.sendId ?? "", status: outcome.status, body: outcome.text });
    return respond(outcome);
  };
  try {
    // The delay of a `slow` fault begins after the key is claimed, so that other requests with this key are refused
    // during the delay.
    await pause(clock, fault);
    // Operations that A-04 affects raise events, so they need room for deliveries.
    if (operation.assumptions.includes("A-04")) retention.assertRoom();
    await operation.check?.(service, input);
    if (state.era() !== era) throw rewound();
    // The transaction includes the response, so that the operation's changes are never stored without it.
    return operation.method === "GET" ? run() : state.transaction(run);
  } finally {
    claim?.release();
  }
}

const rewound = () =>
  new ApiError(
    503,
    "service_unavailable",
    "The sandbox was rewound while this request was running. Send the request again.",
    { headers: { "Retry-After": "1" } },
  );

async function readRequest(
  ledger: Service["ledger"],
  schema: z.ZodType,
  request: Request,
  { call, read }: Exchange,
): Promise<unknown> {
  assertJson(request);
  const bytes = await read();
  call.body = capture(bytes);
  return validate(schema, parseJson(bytes), ledger.get("errors.messageClass"));
}

/** If the fault is of kind `slow`, waits for its delay on the sandbox's clock. */
async function pause(clock: Service["clock"], fault: FaultRecord | undefined): Promise<void> {
  if (fault?.kind !== "slow") return;
  await new Promise<void>((resolve) => {
    clock.at(clock.now() + faultDelayMs(fault), { kind: "delay", id: fault.id }, resolve);
  });
}

const written = ({ status }: Operation, result: OperationResult): Written => ({
  status: result.status ?? status,
  type: "application/json",
  text: result.body === undefined ? "" : JSON.stringify(result.body),
});

function replayed({ sendId, status, body }: IdempotencyRecord, call: CallRecord): Written {
  call.replayed = true;
  call.sendId = sendId;
  return { status, type: "application/json", text: body };
}

/**
 * Returns how a fault withholds the response before the operation runs, or undefined if the operation runs.
 * @throws ApiError with the status of a fault of kind `status`
 */
function applyFault(fault: FaultRecord | undefined, now: number): "closed" | "silent" | undefined {
  switch (fault?.kind) {
    case "status": {
      const status = faultStatus(fault);
      const code =
        status === 429 ? "rate_limited" : status >= 500 ? "service_unavailable" : "invalid_request";
      const seconds = fault.retryAfter ?? (status === 429 ? 1 : undefined);
      const headers = {
        ...(seconds === undefined ? {} : { "Retry-After": String(seconds) }),
        // The interface sends these headers with every 429.
        ...(status === 429 ? usedUp(now, seconds ?? 1) : {}),
      };
      throw new ApiError(
        status,
        code,
        "This response was produced by a fault injected in the sandbox.",
        {
          headers,
        },
      );
    }
    case "refused":
    case "reset":
      return "closed";
    case "timeout":
      return "silent";
    case "slow":
    case "response_lost":
    case "duplicate":
    case "reorder":
    case "drop":
    case "mutate":
    case undefined:
      return undefined;
  }
}

const capture = (content: Uint8Array): Captured => ({
  content: content.slice(0, keptBytes),
  bytes: content.length,
  truncated: content.length > keptBytes,
});
