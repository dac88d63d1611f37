import type { z } from "zod";
import { ApiError, errorBody } from "../errors.js";
import { faultDelayMs, faultStatus } from "../faults.js";
import { createIdempotency, readIdempotencyKey } from "../service/idempotency.js";
import type { Operation, OperationInput, OperationResult } from "../service/operation.js";
import { operations } from "../service/operations.js";
import { createRateLimit, usedUp } from "../service/rate-limit.js";
import type { Service } from "../service/service.js";
import type { CallRecord, Captured, FaultRecord, IdempotencyRecord } from "../state/records.js";
import type { Retention } from "../state/retention.js";
import { authenticate, masked, type Identity } from "./authenticate.js";
import { assertJson, parseJson, readBody } from "./read-body.js";
import { matchRoute, type Route } from "./route.js";
import { validate } from "./validate.js";
import { realNow } from "../lib/timers.js";

/** A response, or what becomes of the connection in its place. */
export type Reply = { readonly response: Response } | { readonly lost: "closed" | "silent" };

/** How much of a request and of its response is kept. */
const keptBytes = 16_384;

/** Serves the interface document's operations: every check in its order, in one place. */
export function createApi(
  service: Service,
  retention: Pick<Retention, "assertRoom">,
): (request: Request) => Promise<Reply> {
  const { state, ledger, clock, ids, faults } = service;
  const idempotency = createIdempotency(service);
  const rateLimit = createRateLimit();

  return async (request) => {
    const startedAt = realNow();
    const finish = (ended: CallRecord) => {
      ended.ms = Math.round(realNow() - startedAt);
      state.calls.put(ended);
      state.commitSoon();
    };
    const url = new URL(request.url);
    const call: CallRecord = {
      id: ids.next("call"),
      account: undefined,
      at: clock.now(),
      method: request.method,
      path: url.pathname + url.search,
      idempotencyKey: request.headers.get("idempotency-key") ?? undefined,
      headers: Array.from(request.headers, ([name, value]) => [name, masked(name, value)] as const),
      status: 0,
      ms: 0,
      events: [],
    };
    state.calls.put(call);
    const headers: Record<string, string> = {};
    const record = ({ status, type, text }: Written) => {
      headers["X-Request-Id"] = call.id;
      headers["Cache-Control"] = "no-store";
      // A date in Retry-After is relative to this one.
      headers["Date"] = new Date(clock.now()).toUTCString();
      if (text !== "") headers["Content-Type"] = type;
      call.status = status;
      call.answer = { headers: Object.entries(headers), body: capture(withoutSecret(text)) };
      finish(call);
    };
    let fault: FaultRecord | undefined;
    let outcome: Written;
    try {
      const account = authenticate(request.headers.get("authorization"), ledger.get("auth"));
      call.account = account.id;
      Object.assign(headers, rateLimit.count(account.key, ledger.get("rateLimit"), clock.now()));
      const route = matchRoute(operations, request.method, url.pathname);
      fault = faults.take(`${route.operation.method} ${route.operation.path}`, call.id);
      if (fault) call.faultId = fault.id;
      const early = applyFault(fault, clock.now());
      if (early) {
        call.lost = true;
        finish(call);
        return { lost: early };
      }
      outcome = await perform(route, request, url, account, call, fault);
      if (fault?.kind === "answer_lost") call.lost = true;
      record(outcome);
      // In one commit, so that a call that has been answered is never found unfinished. Reads change nothing else.
      if (request.method !== "GET") state.commit();
    } catch (error) {
      const refusal = error instanceof ApiError ? error : internalError(error, call, service);
      Object.assign(headers, refusal.headers);
      call.code = refusal.code;
      const { type, body } = errorBody(refusal, call.id, ledger.get("errors.shape"));
      outcome = { status: refusal.status, type, text: JSON.stringify(body) };
      record(outcome);
    }
    if (call.lost) return { lost: "closed" };
    // A fault may have the status 304, which has no body (RFC 9110, section 15.4.5).
    const body = outcome.text === "" || outcome.status === 304 ? null : outcome.text;
    return { response: new Response(body, { status: outcome.status, headers }) };
  };

  async function perform(
    { operation, params }: Route<Operation>,
    request: Request,
    url: URL,
    account: Identity,
    call: CallRecord,
    fault: FaultRecord | undefined,
  ): Promise<Written> {
    const key = operation.idempotent && readIdempotencyKey(request.headers.get("idempotency-key"));
    const body = operation.request && (await readRequest(operation.request, request, call));
    const query = operation.query
      ? validate(operation.query, Object.fromEntries(url.searchParams))
      : undefined;
    const input: OperationInput = { account: account.id, params, body, query, call };
    const claim =
      key === undefined ? undefined : idempotency.begin([account.key, operation.id, key], body);
    if (claim && "fingerprint" in claim) return replayed(claim, call);
    try {
      // Requests with the same key find it taken while this one is slow.
      await pause(fault);
      // it raises events.
      if (operation.assumptions.includes("A-04")) retention.assertRoom();
      const result = written(operation, await operation.run(service, input));
      claim?.keep({ sendId: call.sendId ?? "", status: result.status, body: result.text });
      return result;
    } finally {
      claim?.release();
    }
  }

  async function readRequest(
    schema: z.ZodType,
    request: Request,
    call: CallRecord,
  ): Promise<unknown> {
    assertJson(request);
    const bytes = await readBody(request, ledger.get("limits"));
    call.body = capture(bytes);
    return validate(schema, parseJson(bytes), ledger.get("errors.messageClass"));
  }

  /** Lets a `slow` fault pass. */
  async function pause(fault: FaultRecord | undefined): Promise<void> {
    if (fault?.kind !== "slow") return;
    await new Promise<void>((resolve) => {
      clock.at(clock.now() + faultDelayMs(fault), { kind: "delay", id: fault.id }, resolve);
    });
  }
}

interface Written {
  readonly status: number;
  readonly type: string;
  readonly text: string;
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

/** @throws ApiError for a fault with a status */
function applyFault(fault: FaultRecord | undefined, now: number): "closed" | "silent" | undefined {
  switch (fault?.kind) {
    case "status": {
      const status = faultStatus(fault);
      const code =
        status === 429 ? "rate_limited" : status >= 500 ? "service_unavailable" : "invalid_request";
      const seconds = fault.retryAfter ?? (status === 429 ? 1 : undefined);
      const headers = {
        ...(seconds === undefined ? {} : { "Retry-After": String(seconds) }),
        // The interface has these on every 429.
        ...(status === 429 ? usedUp(now, seconds ?? 1) : {}),
      };
      throw new ApiError(status, code, "This response is a fault of the sandbox.", { headers });
    }
    case "refused":
    case "reset":
      return "closed";
    case "timeout":
      return "silent";
    case "slow":
    case "answer_lost":
    case "duplicate":
    case undefined:
      return undefined;
  }
}

function internalError(error: unknown, { id }: CallRecord, { log }: Service): ApiError {
  log(`${id}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return new ApiError(500, "internal_error", "The sandbox failed. Its output has the reason.");
}

const capture = (content: Uint8Array): Captured => ({
  content: content.slice(0, keptBytes),
  bytes: content.length,
  truncated: content.length > keptBytes,
});

/** A response as it is kept: a secret is shown once, in the response itself. */
const withoutSecret = (text: string): Uint8Array =>
  new TextEncoder().encode(text.replace(/"whsec_\w+(\w{4})"/g, '"whsec_…$1"'));
