import { headerNames } from "../delivery.js";
import { codeOf } from "../errors.js";
import { isBytes } from "../lib/bytes.js";
import { DeadlineError } from "../lib/deadline.js";
import { describe } from "../lib/text.js";
import type { Inspection } from "../scheme.js";
import { signatureProblem } from "../signature.js";
import type { DeadlineCall } from "../store.js";
import type { DeliveryState } from "./delivery-state.js";
import { identified } from "./decode.js";
import { attemptWithin, follow, type Next } from "./drive.js";
import { endWith, type Ending, type StepResult } from "./ending.js";
import { headerLookup } from "./header-lookup.js";

/**
 * Stage 1: checks the method and the headers before it reads the body, so that no memory is spent on the body of an
 * unsigned request. Then it reads the body, up to `maxBodyBytes`.
 */
export function admit(state: DeliveryState): StepResult {
  const { method, headers, url } = state.delivery;
  const { maxBodyBytes, scheme } = state.config;
  const header = (state.header = headerLookup(headers));
  if (method !== "POST") {
    const response = method === "GET" && scheme?.challenge?.(url, header);
    return follow(state, response || notAllowed, identified);
  }

  // A body that may be compressed is refused: some frameworks decompress it and some do not, but the signature covers
  // only one of the two forms. Some senders put a character or transfer encoding into this header; it is accepted.
  const encoding = header("content-encoding");
  if (encoding && !/^\s*(?:identity|none|utf-?8|[78]bit|binary|)\s*$/i.test(encoding)) {
    return endWith("encoding_unsupported");
  }

  const declaredBytes = (state.declaredBytes = Number(header("content-length") || undefined));
  if (declaredBytes > maxBodyBytes) return endWith("body_too_large");

  // A scheme of another package may return a promise, although its type forbids that. `follow` awaits it, because an
  // unhandled rejection would end the process.
  if (scheme) return follow(state, scheme.inspect(header, state.context.receivedAt), inspected);
  const signature = header(headerNames.signature);
  const problem = signatureProblem(signature);
  return problem ? endWith(problem) : takeBody(state, signature.slice(7));
}

const inspected = (
  state: DeliveryState,
  { problem, hint, claim }: Inspection<unknown>,
): StepResult =>
  // Without `Content-Length` or `greeting`, the comparison is false.
  !problem ||
  (problem === "signature_missing" &&
    state.declaredBytes <= (state.config.scheme?.greeting?.maxBytes as number))
    ? takeBody(state, claim, problem && greeted)
    : endWith(problem, hint);

/** @param claim the claim of the scheme or, without one, the 64 hex digits of the signature */
function takeBody(
  state: DeliveryState,
  claim: unknown,
  next: Next<unknown> = readBody,
): StepResult {
  state.signature = claim;
  return (
    state.limit() ?? attemptWithin(state, state.config.bodyTimeoutMs, "body", bodyOf, next, failed)
  );
}

const bodyOf = ({ config, delivery: { body } }: DeliveryState, call: DeadlineCall) =>
  typeof body === "function" ? body(config.maxBodyBytes, call) : body;

const notAllowed = { code: "method_not_allowed" } as const;

/** Continues with the body of an unsigned request. */
const greeted = (state: DeliveryState, bytes: unknown) =>
  readBody(state, bytes) ??
  identified(
    state,
    state.config.scheme?.greeting?.respond(state.bytes, state.config.secret.known()) ?? {
      code: "signature_missing",
    },
  );

function readBody(state: DeliveryState, bytes: unknown): Ending | undefined {
  const { config, declaredBytes } = state;
  if (!isBytes(bytes)) return unavailable(state, "the body is not a Uint8Array");
  const { length } = bytes;
  if (length > config.maxBodyBytes) return endWith("body_too_large");
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
