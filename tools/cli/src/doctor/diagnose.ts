import { sign } from "@svc-webhooks/core";
import { service, type Sender } from "@svc-webhooks/schemes/senders";
import type { Target } from "../lib/target.js";
import { signingFingerprint } from "../schemes/signing-secret.js";
import { bodiesOf } from "./bodies.js";
import { clockFinding } from "./clock.js";
import { examine, type Examination } from "./examine.js";
import type { ExamineOptions } from "./examining.js";
import { patient } from "./patience.js";
import { probeType, sender } from "./probe.js";
import { forSender } from "./sender-texts.js";
import { signingOf } from "./signing.js";

export interface DiagnoseOptions {
  readonly target: Target;
  readonly secret: string;
  /** Earlier secrets of the endpoint, which the receiver may still use. Default: none. */
  readonly previousSecrets?: readonly string[];
  /** The sender whose scheme signs the deliveries. Default: the service. */
  readonly scheme?: Sender | undefined;
  /**
   * The event type of the deliveries. Default: `svc-webhooks.doctor`, which no sender sends. With any other type, it is
   * a finding if an svc-webhooks receiver ignores the first delivery.
   */
  readonly event?: string;
  /** How long the receiver may take to respond to each request, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onProbe?: ExamineOptions["onProbe"];
}

export interface Diagnosis extends Examination {
  readonly url: string;
  readonly secret_fingerprint: string;
}

/**
 * Sends genuine and forged deliveries to a receiver, and resolves to the problems that they reveal.
 *
 * @throws ConfigError (as a rejection) `invalid_secret` for a secret that a receiver would refuse, or that
 *   cannot sign for `scheme`; after an abort, the reason of `signal`
 */
export async function diagnose({
  target,
  secret,
  previousSecrets = [],
  scheme = service,
  event = probeType,
  timeoutMs,
  signal,
  onProbe = () => {},
}: DiagnoseOptions): Promise<Diagnosis> {
  // Rejects an invalid secret, because that is a usage error, not a mistake in the receiver.
  await sign("", secret);
  const signing = signingOf({ sender: scheme, secret, previousSecrets, type: event });
  const bodies = bodiesOf(event, scheme);
  const skews: number[] = [];
  const senderTo = (to: Target) =>
    patient(
      sender({
        target: to,
        deliver: signing.deliver,
        timeoutMs,
        signal,
        onSkew: (ms) => skews.push(ms),
      }),
      signal,
    );
  const examination = await examine({
    bodies,
    expectsHandler: event !== probeType,
    signing,
    send: senderTo(target),
    sendToOtherSlash: senderTo(withOtherSlash(target)),
    onProbe,
  });
  const skewed = await clockFinding(scheme, secret, bodies.plain(), skews);
  const findings = [...(skewed ? [skewed] : []), ...examination.findings].map((finding) =>
    scheme === service ? finding : forSender(finding, scheme),
  );
  const secret_fingerprint = await signingFingerprint(secret, scheme);
  return { ...examination, findings, url: target.url.href, secret_fingerprint };
}

/** Returns the target with a trailing slash added to its path or removed from it. The path `/` stays the same. */
function withOtherSlash(target: Target): Target {
  const url = new URL(target.url);
  url.pathname = url.pathname.endsWith("/") ? url.pathname.slice(0, -1) : `${url.pathname}/`;
  return target.at(url);
}
