import { command } from "../command.js";
import { wholeNumber } from "../lib/number.js";
import { createProgress } from "../lib/terminal/progress.js";
import { previousSecretOptions, readPreviousSecrets, secretOptions } from "../lib/secret.js";
import { resolveTarget, targetOptions } from "../lib/target-rule.js";
import { diagnose } from "../doctor/diagnose.js";
import type { Finding } from "../doctor/findings.js";
import { probeType } from "../doctor/probe.js";
import { paint, type Line } from "../paint.js";
import { requireSigningSecret } from "../schemes/signing-secret.js";
import { schemeOption, senderOf } from "../schemes/option.js";

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
    "Exits with 1 if it finds a mistake. It also lists what it cannot check from outside. With --json, prints { url, secret_fingerprint, findings: [{ id, happened, cause, fix, mistake? }], not_judged, probes }.",
  ],
  examples: ["svc-webhooks doctor http://localhost:3000/webhooks --secret-env SVC_WEBHOOK_SECRET"],
  options,
  async run(context) {
    const { args, options: values, show, signal } = context;
    const [text = ""] = args;
    const timeoutMs = wholeNumber("--timeout", values.timeout, 1, 600) * 1_000;
    const target = await resolveTarget("The URL", text, values["allow-external"]);
    const scheme = senderOf(values);
    const secret = await requireSigningSecret(context, scheme);
    const previousSecrets = await readPreviousSecrets(context);
    const progress = createProgress(context);
    const diagnosis = await diagnose({
      target,
      secret,
      previousSecrets,
      scheme,
      event: values.event,
      timeoutMs,
      signal,
      onProbe: ({ name }, share) => progress.update(share, name),
    }).finally(progress.clear);
    const { url, secret_fingerprint, findings, probes, stoppedBefore } = diagnosis;
    const not_judged = diagnosis.not_judged.map(({ text: reason }) => reason);
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
      ["Not checked:", ...not_judged.map((reason) => `  - ${reason}`)],
    ];
    const lines = blocks.flatMap((block, index) => (index === 0 ? block : ["", ...block]));
    show({ url, secret_fingerprint, findings, not_judged, probes }, lines);
    return findings.length > 0 ? 1 : 0;
  },
});

const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;

const blockOf = ({ id, happened, cause, fix }: Finding): readonly Line[] => [
  [paint("red", id)],
  `  Saw:   ${happened}`,
  `  Cause: ${cause}`,
  `  Fix:   ${fix}`,
];
