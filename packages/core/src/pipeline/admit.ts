import { headerNames } from "../delivery.js";
import { codeOf } from "../errors.js";
import { isBytes } from "../lib/bytes.js";
import { DeadlineError } from "../lib/deadline.js";
import { describe } from "../lib/text.js";
import type { OutcomeCode } from "../outcome.js";
import type { Inspection, Unsigned } from "../scheme.js";
import { signatureProblem } from "../signature.js";
import type { DeadlineCall } from "../store.js";
import type { DeliveryState } from "./delivery-state.js";
import { attemptWithin, follow, type Next } from "./drive.js";
import { endWith, type Ending, type StepResult } from "./ending.js";
import { headerLookup } from "./header-lookup.js";

/**
 * Stage 1: checks the method and the headers before it reads the body, so that no memory is spent on the body of an
 * unsigned request. Then it reads the body, up to `maxBodyBytes`.
 */
export function admit(state: DeliveryState): StepResult {
  const { method, headers } = state.delivery;
  const { maxBodyBytes, scheme } = state.config;
  const header = (state.header = headerLookup(headers));
  if (method !== "POST") {
    const { url = "" } = state.delivery;
    const response = method === "GET" ? scheme?.challenge?.(url, header) : undefined;
    return follow(state, response, challenged);
  }

  // A body that may be compressed is refused: some frameworks decompress it and some do not, but the signature covers
  // only one of the two forms. Some senders put a character or transfer encoding into this header; it is accepted.
  const encoding = header("content-encoding");
  if (encoding && !/^\s*(?:identity|none|utf-?8|[78]bit|binary|)\s*$/i.test(encoding)) {
    return endWith("encoding_unsupported");
  }

  state.declaredBytes = Number(header("content-length"));
  if (state.declaredBytes > maxBodyBytes) return endWith("body_too_large");

  // A scheme of another package may return a promise, although its type forbids that. `follow` awaits it, because an
  // unhandled rejection would end the process.
  if (scheme) return follow(state, scheme.inspect(header, state.context.receivedAt), inspected);
  const signature = header(headerNames.signature);
  const problem = signatureProblem(signature);
  return problem ? endWith(problem) : takeBody(state, signature.slice(7));
}

function inspected(
  state: DeliveryState,
  { problem, hint, claim }: Inspection<unknown>,
): StepResult {
  const { declaredBytes, config } = state;
  if (!problem) return takeBody(state, claim);
  // Without the header, or if it is empty, `declaredBytes` is 0.
  return problem === "signature_missing" &&
    declaredBytes > 0 &&
    declaredBytes <= (config.scheme?.greeting?.maxBytes ?? 0)
    ? takeBody(state, undefined, greeted, declaredBytes)
    : endWith(problem, hint);
}

/**
 * @param claim the claim of the scheme or, without one, the 64 hex digits of the signature
 * @param limit the largest body, in bytes
 */
function takeBody(
  state: DeliveryState,
  claim: unknown,
  next: Next<unknown> = readBody,
  limit: number = state.config.maxBodyBytes,
): StepResult {
  state.signature = claim;
  state.limitBytes = limit;
  return (
    state.limit() ?? attemptWithin(state, state.config.bodyTimeoutMs, "body", bodyOf, next, failed)
  );
}

const bodyOf = ({ limitBytes, delivery: { body } }: DeliveryState, call: DeadlineCall) =>
  typeof body === "function" ? body(limitBytes, call) : body;

const challenged = (state: DeliveryState, response: Unsigned | undefined) =>
  endUnsigned(state, "method_not_allowed", response);

const greeted = (state: DeliveryState, bytes: unknown) =>
  readBody(state, bytes) ??
  endUnsigned(
    state,
    "signature_missing",
    state.config.scheme?.greeting?.respond(
      state.bytes,
      state.config.secret.known().map((secret) => secret.bytes),
    ),
  );

/** Ends a request that has no signature: with the response of the scheme, otherwise with `code`. */
function endUnsigned(state: DeliveryState, code: OutcomeCode, response: Unsigned = {}): Ending {
  state.reply = response.reply;
  return endWith(response.reply ? "handshake" : code, response.hint);
}

function readBody(state: DeliveryState, bytes: unknown): Ending | undefined {
  const { limitBytes, declaredBytes } = state;
  if (!isBytes(bytes)) return unavailable(state, "the body is not a Uint8Array");
  const { length } = bytes;
  if (length > limitBytes) return endWith("body_too_large");
  if (length < declaredBytes) {
    return unavailable(state, `the body was cut to ${length} of ${declaredBytes} bytes`);
  }
  state.bytes = bytes;
  state.context.bodyBytes = length;
  return undefined;
}

function failed(state: DeliveryState, error: unknown): Ending {
  if (error instanceof DeadlineError) return endWith("body_timeout");
  const code = codeOf(error);
  if (code === "aborted" || code === "body_too_large") return endWith(code);
  return unavailable(state, describe(error));
}

const unavailable = ({ delivery: { fix } }: DeliveryState, cause: string) =>
  endWith("body_unavailable", fix ? `${cause}; ${fix}` : cause);
