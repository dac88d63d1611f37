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
import { examine } from "../doctor/examine.js";
import type { Finding } from "../doctor/findings.js";
import { patient } from "../doctor/patience.js";
import { probeType, sender } from "../doctor/probe.js";
import { paint, type Line } from "../paint.js";

const options = {
  ...secretOptions,
  ...previousSecretOptions,
  event: {
    type: "string",
    default: probeType,
    value: "type",
    text: "event type of the deliveries; a type that the receiver handles runs its handler",
  },
  timeout: {
    type: "string",
    default: "15",
    value: "seconds",
    text: "how long the receiver may take for one response",
  },
  ...targetOptions,
} as const;

export const doctor = command({
  usage: "<url> --secret-env <name>",
  args: ["url"],
  details: [
    "Posts deliveries to a receiver and nothing else: genuine ones whose bytes a parser would change, in pieces, large, twice, and forged ones. From its responses it names what is wrong: a parser before the receiver, a wrong secret, an altered body, unsigned deliveries that are accepted, and more.",
    "Use the secret that the receiver has. With --event, its handler runs for the genuine deliveries, whose data is that of email.sent, and a failure, a timeout or a missing handler is a finding. Without it, only a receiver that handles every type runs a handler.",
    "Exits with 1 if there is a finding, and names what no request can show. With --json: { url, findings: [{ id, saw, cause, fix, mistake? }], not_judged, probes }.",
  ],
  examples: ["svc-webhooks doctor http://localhost:3000/webhooks --secret-env SVC_WEBHOOK_SECRET"],
  options,
  async run(context) {
    const { args, options: given, show, signal } = context;
    const [text = ""] = args;
    const timeoutMs = wholeNumber("--timeout", given.timeout, 1, 600) * 1_000;
    const target = await resolveTarget("The URL", text, given["allow-external"]);
    const secret = await requireSecret(context);
    const previousSecrets = await readPreviousSecrets(context);
    // An invalid secret is a usage error, not a mistake in the receiver.
    await sign("", secret);
    const progress = createProgress(context);
    const senderTo = (to: Target) =>
      patient(sender({ target: to, secret, timeoutMs, signal }), signal);
    const { findings, not_judged, probes, stoppedBefore } = await examine({
      bodies: bodiesOf(given.event),
      expectsHandler: given.event !== probeType,
      secret,
      previousSecrets,
      send: senderTo(target),
      sendToOtherSlash: senderTo(withOtherSlash(target)),
      onProbe: ({ name }, share) => progress.update(share, name),
    }).finally(progress.clear);
    const { href: url } = target.url;
    const secret_fingerprint = await fingerprint(secret);
    const verdict =
      stoppedBefore === undefined
        ? paint("green", "No mistake found.")
        : paint(
            "yellow",
            `Stopped after ${probes.length} of ${stoppedBefore} probes; no mistake found until then.`,
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
