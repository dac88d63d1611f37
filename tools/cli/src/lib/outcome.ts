import type { IncomingMessage } from "node:http";
import type { OutcomeCode } from "@svc-webhooks/core";
import { outcomeTexts } from "@svc-webhooks/core/outcomes";
import { jsonIn } from "./json-in.js";
import { readUpTo } from "./read.js";

/**
 * Returns the outcome that an svc-webhooks receiver states in its response: `{"status":"processed"}` or
 * `{"error":{"code":"signature_mismatch"}}`. Returns undefined for any other response, and for one without
 * `Cache-Control: no-store`, because other servers may use the same words.
 */
export function outcomeIn(caching: string | undefined, body: string): OutcomeCode | undefined {
  if (caching !== "no-store") return undefined;
  const { status, error } = Object(jsonIn(body)) as {
    readonly status?: unknown;
    readonly error?: { readonly code?: unknown } | null;
  };
  const code = error?.code ?? status;
  return isOutcome(code) ? code : undefined;
}

const mostResponseBytes = 65_536;

/** Resolves to the outcome in a response, as `outcomeIn` does. Undefined if the body is too long or cannot be read. */
export const outcomeOf = (response: IncomingMessage): Promise<OutcomeCode | undefined> =>
  readUpTo(mostResponseBytes, response).then(
    ({ content }) => outcomeIn(response.headers["cache-control"], content.toString()),
    () => undefined,
  );

export const isOutcome = (code: unknown): code is OutcomeCode =>
  typeof code === "string" && Object.hasOwn(outcomeTexts, code);

/** Returns whether an outcome is `processed` or unknown. A receiver that does not use svc-webhooks states none. */
export const isHandled = (code: OutcomeCode | undefined): boolean =>
  code === undefined || code === "processed";

/**
 * Returns why a receiver rejected a delivery: the cause, and the fix if it is known. Returns an empty list if the
 * receiver stated no outcome, unless `status` is 401.
 *
 * @param isGenuine whether the command has verified the signature, and has printed the fingerprint of its own secret
 */
export function refusalOf(
  status: number | undefined,
  code: OutcomeCode | undefined,
  isGenuine: boolean,
): readonly string[] {
  if (code === "signature_mismatch" || (code === undefined && status === 401)) {
    const receiver =
      "receiver probably uses a different secret, or something in front of it changes the body.";
    if (!isGenuine) return [`If the signature is genuine, the ${receiver}`];
    const compare =
      "If the receiver's log shows the fingerprint of its secret, compare it with the one above: if they are the same and the secret has not expired, the body was changed.";
    return code === undefined ? [`The ${receiver}`] : [`The ${receiver}`, compare];
  }
  if (code === undefined) return [];
  const { happened, cause, fix } = outcomeTexts[code];
  return [`${happened} ${cause}`, fix];
}
