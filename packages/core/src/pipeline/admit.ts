import { headerNames, type HeaderLookup } from "../delivery.js";
import { codeOf } from "../errors.js";
import { isBytes } from "../lib/bytes.js";
import { DeadlineError, withDeadline } from "../lib/deadline.js";
import { andThen, tryThen } from "../lib/maybe-promise.js";
import { describe } from "../lib/text.js";
import type { Inspection } from "../scheme.js";
import { signatureProblem } from "../signature.js";
import type { MaybePromise } from "../store.js";
import type { UndecodedDelivery } from "./delivery-state.js";
import { endWith, type Ending } from "./ending.js";
import { headerLookup } from "./header-lookup.js";

/**
 * Stage 1: checks the method and the headers before it reads the body, so that no memory is spent on the body of an
 * unsigned request. Then it reads the body, up to `maxBodyBytes`.
 */
export function admit(state: UndecodedDelivery): MaybePromise<Ending | undefined> {
  const { method, headers } = state.delivery;
  const { maxBodyBytes, scheme } = state.config;
  const header = (state.header = headerLookup(headers));
  if (method !== "POST") return endWith("method_not_allowed");

  // A body that may be compressed is refused: some frameworks decompress it and some do not, but the signature covers
  // only one of the two forms. Some senders put a character or transfer encoding into this header; it is accepted.
  if (!/^\s*(?:identity|none|utf-?8|[78]bit|binary|)\s*$/i.test(header("content-encoding"))) {
    return endWith("encoding_unsupported");
  }

  const declaredBytes = Number(header("content-length"));
  if (declaredBytes > maxBodyBytes) return endWith("body_too_large");

  const inspection = (scheme?.inspect ?? inspect)(header, state.context.receivedAt);
  // A scheme of another package may return a promise, although its type forbids that. `andThen` awaits it, because an
  // unhandled rejection would end the process.
  return andThen(inspection, ({ problem, hint, claim }) => {
    if (problem) return endWith(problem, hint);
    state.signature = claim;
    return state.limit() ?? readBody(state, declaredBytes);
  });
}

/** Inspects the headers of the service. The claim is the 64 hex digits of the signature. */
const inspect = (header: HeaderLookup): Inspection<string> => {
  const signature = header(headerNames.signature);
  return { problem: signatureProblem(signature), claim: signature.slice(7) };
};

function readBody(
  state: UndecodedDelivery,
  declaredBytes: number,
): MaybePromise<Ending | undefined> {
  const { body, fix } = state.delivery;
  const { maxBodyBytes, bodyTimeoutMs, clock } = state.config;
  const unavailable = (cause: string) =>
    endWith("body_unavailable", fix ? `${cause}; ${fix}` : cause);

  return tryThen<unknown, Ending | undefined>(
    () =>
      typeof body === "function"
        ? withDeadline(clock, bodyTimeoutMs, "body", (call) => body(maxBodyBytes, call))
        : body,
    (bytes) => {
      if (!isBytes(bytes)) return unavailable("the body is not a Uint8Array");
      if (bytes.length > maxBodyBytes) return endWith("body_too_large");
      if (bytes.length < declaredBytes) {
        return unavailable(`the body was cut to ${bytes.length} of ${declaredBytes} bytes`);
      }
      state.bytes = bytes;
      state.context.bodyBytes = bytes.length;
      return undefined;
    },
    (error) => {
      if (error instanceof DeadlineError) return endWith("body_timeout");
      const code = codeOf(error);
      if (code === "aborted" || code === "body_too_large") return endWith(code);
      return unavailable(describe(error));
    },
  );
}
