import { isBytes } from "../bytes.js";
import { codeOf } from "../errors.js";
import { headerLookup, headerNames } from "../headers.js";
import { endWith, type Ending } from "../outcome.js";
import { attempt, DeadlineError, withDeadline, type MaybePromise } from "../promise.js";
import { signatureProblem } from "../signature.js";
import { describe } from "../text.js";
import type { Visit } from "../visit.js";

/**
 * Stage 1: what can be refused without the body is refused without it, so a stranger's unsigned
 * request costs no memory. Then the body is read, at most `maxBodyBytes` of it.
 */
export function admit(visit: Visit): MaybePromise<Ending | undefined> {
  const { method, headers, body, fix } = visit.delivery;
  const { maxBodyBytes, bodyTimeoutMs, clock } = visit.config;
  const header = (visit.header = headerLookup(headers));
  if (method !== "POST") return endWith("method_not_allowed");

  // Frameworks inflate or not as they please, and the signature covers one of the two.
  const encoding = header("content-encoding");
  if (encoding && !/^\s*identity\s*$/i.test(encoding)) return endWith("encoding_unsupported");

  const declaredBytes = Number(header("content-length"));
  if (declaredBytes > maxBodyBytes) return endWith("body_too_large");

  visit.signature = header(headerNames.signature);
  const problem = signatureProblem(visit.signature);
  if (problem) return endWith(problem);

  const unavailable = (found: string) =>
    endWith("body_unavailable", fix ? `${found}; ${fix}` : found);

  return attempt<unknown, Ending | undefined>(
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
      visit.bytes = bytes;
      visit.context.bodyBytes = bytes.length;
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
