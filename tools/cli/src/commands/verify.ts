import { verify as verdictOf } from "@svc-webhooks/core";
import { headerNames } from "@svc-webhooks/core/adapter";
import { explain, type Explanation, type Mistake } from "@svc-webhooks/explain";
import {
  explainRequest,
  judgeRequest,
  type ExplainSenderRequest,
  type RequestExplanation,
} from "@svc-webhooks/explain/senders";
import { service } from "@svc-webhooks/schemes/senders";
import { command, type Context, type ExitCode } from "../command.js";
import { paint, type Line } from "../paint.js";
import { UsageError } from "../errors.js";
import { headerOf } from "../lib/delivery-headers.js";
import { differenceLines } from "../lib/difference.js";
import { readBody } from "../lib/read.js";
import {
  bodyFirst,
  previousSecretOptions,
  readPreviousSecrets,
  requireSecret,
  secretOptions,
} from "../lib/secret.js";
import { escaped } from "../lib/terminal/text.js";
import { adviceOf } from "../schemes/advice.js";
import { arrivedOptions, readArrived, type Arrived } from "../schemes/arrived.js";
import { assertWithScheme, schemeOption, senderOf } from "../schemes/option.js";
import { keyOf } from "../schemes/signing-secret.js";

const options = {
  ...schemeOption,
  ...arrivedOptions,
  signature: {
    type: "string",
    value: "value",
    text: "the X-SVC-Signature to verify, as it arrived or as your code computed it",
  },
  explain: { type: "boolean", text: "find the mistake that made the signature wrong" },
  ...secretOptions,
  ...previousSecretOptions,
} as const;

export const verify = command({
  usage: "--signature <value> < body | --header <line> < body | --capture <file>",
  details: [
    "Exits with 0 if the signature matches the exact bytes of the body (with --scheme, if the delivery is accepted), and otherwise with 1.",
    "--explain checks for common mistakes, such as a body that was parsed and serialized again, or a secret with a newline, and reports the one that produces this signature. The signature is still not accepted. Unlike svc-webhooks listen, this command does not accept the previous secret either. A signature with upper-case hex digits is accepted; --explain then prints a note on stderr.",
    "With --scheme, the request is verified as a receiver with this scheme would verify it, and the outcome is printed; a refusal is printed with its cause and fix. Pass the request as headers and a body, or as a line of a capture file. --explain then also checks for mistakes that are common with that sender, such as a wrong clock.",
    "With --json, prints { ok, mistake, next_step? }; --scheme adds { outcome, delivery_id, type, happened, cause, fix, details? }. The mistake is an id such as reserialized_json, or null if none was found.",
  ],
  examples: [
    "svc-webhooks verify --explain --secret-env SVC_WEBHOOK_SECRET --signature sha256=… < body.json",
    "svc-webhooks verify --explain --secret-env SVC_WEBHOOK_SECRET --capture deliveries.jsonl",
    "svc-webhooks verify --json --secret-env NEW --signature sha256=… --body body.json",
    "svc-webhooks verify --scheme stripe --header 'Stripe-Signature: t=…' --secret-env NAME < body.json",
    "svc-webhooks verify --scheme github --capture deliveries.jsonl --secret-env NAME --explain",
  ],
  options,
  async run(context) {
    const { header, at, capture, signature } = context.options;
    const sender = senderOf(context.options);
    const isService = sender === service;
    if (!isService && signature !== undefined) {
      throw new UsageError(
        "--signature is only for the service's own signatures.",
        "With --scheme, pass the sender's headers with --header 'Name: value'.",
      );
    }
    if (capture === undefined) bodyFirst(context.options);
    if (isService) assertWithScheme({ header, at });
    if (capture !== undefined && signature !== undefined) {
      throw new UsageError(
        "--capture already contains the signature.",
        "Remove --signature, or --capture.",
      );
    }
    if (isService && capture === undefined && signature === undefined) {
      throw new UsageError(
        "--signature is missing.",
        "svc-webhooks verify --help lists its arguments and options.",
      );
    }
    const secret = await requireSecret(context);
    const previousSecrets = await readPreviousSecrets(context);
    for (const previous of previousSecrets) keyOf(sender.scheme, previous, "previous secret");
    const arrived: Arrived =
      signature === undefined
        ? await readArrived(context)
        : {
            headers: [[headerNames.signature, signature]],
            body: await readBody(context),
            at: Date.now(),
          };
    const request = { ...arrived, scheme: sender.scheme, secret, previousSecrets };
    return (isService ? verifySignature : verifyRequest)(request, context);
  },
});

type VerifyContext = Context<typeof options>;

type Request = Arrived & ExplainSenderRequest;

const genuine: Line = [paint("green", "The signature is genuine.")];

/** Verifies a signature of the service, and prints whether it is genuine. */
async function verifySignature(
  { headers, body, secret, previousSecrets }: Request,
  { json, options: { explain: isAsked }, note, show }: VerifyContext,
): Promise<ExitCode> {
  const signature = headerOf(headers, headerNames.signature);
  const damaged = damagedSecret(secret);
  if (damaged) {
    const line = [paint("red", "Not genuine."), ` ${damaged.cause} ${damaged.fix}`];
    show({ ok: false, mistake: damaged.id }, [line]);
    return 1;
  }
  const verdict = await verdictOf(body, signature, secret);
  if (verdict.ok) {
    show({ ok: true, mistake: null }, [genuine]);
    if (isAsked && signature !== signature?.toLowerCase()) note(upperCase);
    return 0;
  }
  const isExplained = json || isAsked;
  const explanation = isExplained
    ? await explain({ body, signature, secrets: secret, previousSecrets })
    : undefined;
  const lines = [
    [paint("red", "Not genuine:"), ` ${verdict.code}.`],
    ...(explanation ? linesOf(explanation) : ["Add --explain to find the cause."]),
  ];
  const { mistake, next_step } = explanation ?? {};
  show({ ok: false, mistake: mistake?.id ?? null, ...(next_step && { next_step }) }, lines);
  return 1;
}

const upperCase =
  'The hex digits of this signature are in upper case, which other receivers may refuse. Write them in lower case, as digest("hex") does.';

/**
 * Returns the mistake in a secret that has white space or quotes around it, which receivers refuse. Returns undefined
 * for any other secret.
 */
function damagedSecret(secret: string): Mistake | undefined {
  if (secret.trim() !== secret) {
    return {
      id: "secret_space",
      cause: "The given secret has white space around it.",
      fix: "Remove the white space where the secret is stored.",
    };
  }
  if (/^(["'`]).*\1$/s.test(secret)) {
    return {
      id: "secret_quoted",
      cause: "The given secret is in quotes.",
      fix: "Remove the quotes where the secret is stored.",
    };
  }
  return undefined;
}

/**
 * Returns the lines that state the cause and its fix, or the next step if the cause is unknown, and the first
 * difference if one was found.
 */
function linesOf(explanation: Explanation): readonly string[] {
  const { mistake, next_step, first_difference, body_difference } = explanation;
  const cause = mistake
    ? [`Cause: ${mistake.cause}`, `Fix:   ${mistake.fix}`, `Id:    ${mistake.id}`]
    : ["Cause: no known mistake produces this signature.", `Next:  ${next_step ?? ""}`];
  if (body_difference) return [...cause, ...differenceLines(body_difference, "sent", "yours")];
  if (!first_difference) return cause;
  const { at: index, signed, yours } = first_difference;
  return [
    ...cause,
    `First difference at character ${index + 1}: expected ${shown(signed)}, found ${shown(yours)}.`,
  ];
}

const shown = (character: string) => (character === "" ? "its end" : `"${escaped(character)}"`);

/** Verifies a request as a receiver with the sender's scheme would, and prints its outcome. */
async function verifyRequest(
  request: Request,
  { json, options: { explain: isAsked }, show }: VerifyContext,
): Promise<ExitCode> {
  const isExplained = json || isAsked;
  const explanation: RequestExplanation = isExplained
    ? await explainRequest(request)
    : await judgeRequest(request);
  const { outcome, text, details, mistake, next_step } = explanation;
  const { cause, fix } = adviceOf(text, mistake);
  const ok = outcome.status === 200;
  show(
    {
      ok,
      outcome: outcome.code,
      delivery_id: outcome.deliveryId ?? null,
      type: outcome.type ?? null,
      happened: text.happened,
      cause,
      fix,
      ...(details && { details }),
      mistake: mistake?.id ?? null,
      ...(next_step !== undefined && { next_step }),
    },
    outcomeLines(explanation, isExplained),
  );
  return ok ? 0 : 1;
}

function outcomeLines(explanation: RequestExplanation, isExplained: boolean): readonly Line[] {
  const { outcome, isGenuine, text, details, mistake, next_step: next } = explanation;
  const { code, status, deliveryId, type } = outcome;
  if (status === 200) {
    const what = [code, deliveryId && `delivery ${deliveryId}`, type && `type ${type}`];
    return [
      genuine,
      `Outcome: ${what.filter(Boolean).join(", ")}`,
      ...(code === "handshake" ? [text.happened] : []),
    ];
  }
  const verdict = isGenuine ? "The signature is genuine, but the delivery is refused:" : "Refused:";
  const { cause, fix } = adviceOf(text, mistake);
  return [
    [paint("red", verdict), ` ${code}.`],
    text.happened,
    ...(details ? [`Log:   ${details}`] : []),
    `Cause: ${cause}`,
    `Fix:   ${fix}`,
    ...(mistake ? [`Id:    ${mistake.id}`] : []),
    ...(next === undefined ? [] : [`Next:  No known mistake explains this. ${next}`]),
    ...(mistake?.body_difference
      ? differenceLines(mistake.body_difference, "given", "signed")
      : []),
    ...(isGenuine || isExplained ? [] : ["Add --explain to check for common mistakes."]),
  ];
}
