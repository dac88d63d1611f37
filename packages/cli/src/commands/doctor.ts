import { sign } from "@svc-webhooks/core";
import { fingerprint } from "@svc-webhooks/explain";
import { command } from "../command.js";
import { wholeNumber } from "../lib/number.js";
import { createProgress } from "../lib/terminal/progress.js";
import {
  previousSecretOptions,
  readPreviousSecrets,
  requireSecret,
  secretOptions,
} from "../lib/secret.js";
import { resolveTarget, targetOptions } from "../lib/target-rule.js";
import type { Target } from "../lib/target.js";
import { bodiesOf } from "../doctor/bodies.js";
import { clockFinding } from "../doctor/clock.js";
import { examine } from "../doctor/examine.js";
import type { Finding } from "../doctor/findings.js";
import { patient } from "../doctor/patience.js";
import { probeType, sender } from "../doctor/probe.js";
import { senderSigning } from "../doctor/sender-signing.js";
import { forSender } from "../doctor/sender-texts.js";
import { serviceSigning } from "../doctor/service-signing.js";
import { paint, type Line } from "../paint.js";
import { keyOf } from "../schemes/key.js";
import { requireSigningSecret } from "../schemes/signing-secret.js";
import { schemeOption, senderOf } from "../schemes/table.js";

const options = {
  ...schemeOption,
  ...secretOptions,
  ...previousSecretOptions,
  event: {
    type: "string",
    default: probeType,
    value: "type",
    text: "event type of the deliveries; if the receiver handles it, its handler runs",
  },
  timeout: {
    type: "string",
    default: "15",
    value: "seconds",
    text: "how long the receiver may take to respond",
  },
  ...targetOptions,
} as const;

export const doctor = command({
  usage: "<url> --secret-env <name>",
  args: ["url"],
  details: [
    "Sends forged and genuine test deliveries to a receiver. Some of the genuine ones are large, repeated, sent in pieces, or contain bytes that a parser would change. From the responses, this command works out what is wrong: for example, that a parser runs before the receiver, that the secret is wrong, that something alters the body, or that the receiver accepts unsigned deliveries.",
    "Pass the receiver's secret. With --event, the receiver's handler for that type runs for the genuine deliveries, which contain the data of an email.sent event. A handler that is missing, fails or times out is then reported as a finding. Without --event, the type is svc-webhooks.doctor, so a handler runs only if the receiver handles every type.",
    "With --scheme, the deliveries are signed as that sender would sign them, and the Date header of the responses is compared with this machine's clock. For a sender that signs with a private key, pass that key as the secret.",
    "Exits with 1 if it finds a mistake. It also lists what it cannot check from outside. With --json, prints { url, secret_fingerprint, findings: [{ id, saw, cause, fix, mistake? }], not_judged, probes }.",
  ],
  examples: ["svc-webhooks doctor http://localhost:3000/webhooks --secret-env SVC_WEBHOOK_SECRET"],
  options,
  async run(context) {
    const { args, options: given, show, signal } = context;
    const [text = ""] = args;
    const timeoutMs = wholeNumber("--timeout", given.timeout, 1, 600) * 1_000;
    const target = await resolveTarget("The URL", text, given["allow-external"]);
    const scheme = senderOf(given);
    const secret = scheme
      ? await requireSigningSecret(context, scheme)
      : await requireSecret(context);
    const previousSecrets = await readPreviousSecrets(context);
    // An invalid secret is a usage error, not a mistake in the receiver.
    await sign("", secret);
    const signing = scheme
      ? senderSigning(scheme, secret, previousSecrets, given.event)
      : serviceSigning(secret, previousSecrets);
    const bodies = bodiesOf(given.event, scheme?.shape);
    const skews: number[] = [];
    const progress = createProgress(context);
    const senderTo = (to: Target) =>
      patient(
        sender({
          target: to,
          headersOf: signing.headersOf,
          timeoutMs,
          signal,
          onSkew: (ms) => skews.push(ms),
        }),
        signal,
      );
    const examination = await examine({
      bodies,
      expectsHandler: given.event !== probeType,
      signing,
      send: senderTo(target),
      sendToOtherSlash: senderTo(withOtherSlash(target)),
      onProbe: ({ name }, share) => progress.update(share, name),
    }).finally(progress.clear);
    const { not_judged, probes, stoppedBefore } = examination;
    const skewed = scheme && (await clockFinding(scheme, secret, bodies.plain(), skews));
    const findings = [...(skewed ? [skewed] : []), ...examination.findings].map((one) =>
      scheme ? forSender(one, scheme) : one,
    );
    const { href: url } = target.url;
    const secret_fingerprint = await fingerprint(
      scheme && !scheme.hasPrivateKey ? keyOf(scheme.scheme, secret) : secret,
    );
    const verdict =
      stoppedBefore === undefined
        ? paint("green", "No mistake found.")
        : paint(
            "yellow",
            `Stopped after ${probes.length} of ${stoppedBefore} probes; no mistake found so far.`,
          );
    const result = findings.length === 0 ? [[[verdict]]] : [];
    const blocks: readonly (readonly Line[])[] = [
      [
        `${url}: ${counted(probes.length, "probe")}, ${counted(findings.length, "finding")}`,
        `Fingerprint of the secret: ${secret_fingerprint}`,
      ],
      ...findings.map(blockOf),
      ...result,
      ["Not checked:", ...not_judged.map((one) => `  - ${one}`)],
    ];
    const lines = blocks.flatMap((block, index) => (index === 0 ? block : ["", ...block]));
    show({ url, secret_fingerprint, findings, not_judged, probes }, lines);
    return findings.length > 0 ? 1 : 0;
  },
});

const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;

const blockOf = ({ id, saw, cause, fix }: Finding): readonly Line[] => [
  [paint("red", id)],
  `  Saw:   ${saw}`,
  `  Cause: ${cause}`,
  `  Fix:   ${fix}`,
];

/** Returns the same target with a trailing slash added to its path or removed from it. */
function withOtherSlash(target: Target): Target {
  const url = new URL(target.url);
  url.pathname = url.pathname.endsWith("/") ? url.pathname.slice(0, -1) : `${url.pathname}/`;
  return target.at(url);
}
