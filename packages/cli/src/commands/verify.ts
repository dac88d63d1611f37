import { verify as verdictOf } from "@svc-webhooks/core";
import { explain, type Explanation } from "@svc-webhooks/explain";
import { command } from "../command.js";
import { paint } from "../paint.js";
import { bodyOptions, readBody } from "../lib/read.js";
import {
  bodyFirst,
  previousSecretOptions,
  readPreviousSecrets,
  requireSecret,
  secretOptions,
} from "../lib/secret.js";
import { escaped } from "../lib/terminal/text.js";

const options = {
  signature: {
    type: "string",
    required: true,
    value: "value",
    text: "the X-SVC-Signature to verify, as it arrived or as code computed it",
  },
  explain: { type: "boolean", text: "name the mistake that made the signature wrong" },
  ...secretOptions,
  ...previousSecretOptions,
  ...bodyOptions,
} as const;

export const verify = command({
  usage: "--signature <value> --secret-env <name> [--explain] < body",
  details: [
    "Exits with 0 if the signature is that of the exact bytes of stdin, and with 1 if it is not.",
    "--explain tries the known mistakes, such as a body that was parsed and serialised again, or a secret with a newline, and names the one that makes this signature. A mistake is never accepted, and neither is the previous secret, which svc-webhooks listen accepts. Upper-case hex digits are genuine, with a note on stderr.",
    "With --json: { ok, mistake, next_step? }, where mistake is an id such as reserialised_json, or null if it is not known.",
  ],
  examples: [
    "svc-webhooks verify --explain --secret-env SVC_WEBHOOK_SECRET --signature sha256=… < body.json",
    "svc-webhooks verify --json --secret-env NEW --signature sha256=… --body body.json",
  ],
  options,
  async run(context) {
    bodyFirst(context.options);
    const secret = await requireSecret(context);
    const previousSecrets = await readPreviousSecrets(context);
    const body = await readBody(context);
    const { signature } = context.options;
    const { json, note, show } = context;

    const spoilt = spoiltSecret(secret);
    if (spoilt) {
      const line = [paint("red", "Not genuine."), ` ${spoilt.text}`];
      show({ ok: false, mistake: spoilt.id }, [line]);
      return 1;
    }
    const verdict = await verdictOf(body, signature, secret);
    if (verdict.ok) {
      show({ ok: true, mistake: null }, [[paint("green", "The signature is genuine.")]]);
      if (context.options.explain && signature !== signature.toLowerCase()) note(upperCase);
      return 0;
    }
    const isExplained = json || context.options.explain;
    const explanation = isExplained
      ? await explain({ body, signature, secrets: secret, previousSecrets })
      : undefined;
    const lines = [
      [paint("red", "Not genuine:"), ` ${verdict.code}.`],
      ...(explanation ? linesOf(explanation) : ["Add --explain to name the cause."]),
    ];
    const { mistake, next_step } = explanation ?? {};
    show({ ok: false, mistake: mistake?.id ?? null, ...(next_step && { next_step }) }, lines);
    return 1;
  },
});

const upperCase =
  'Its hex digits are in upper case, which other receivers may refuse. Write them in lower case: digest("hex") does.';

/**
 * Returns why a secret cannot verify anything, or undefined. Surrounding quotes and white space are common mistakes.
 */
function spoiltSecret(secret: string): { readonly id: string; readonly text: string } | undefined {
  if (secret.trim() !== secret) {
    return {
      id: "secret_space",
      text: "White space surrounds the given secret. Remove it where the secret is stored.",
    };
  }
  if (/^(["'`]).*\1$/s.test(secret)) {
    return {
      id: "secret_quoted",
      text: "Quotes surround the given secret. Remove them where the secret is stored.",
    };
  }
  return undefined;
}

/** Returns the lines that state the cause, its fix and where the values differ. */
function linesOf(explanation: Explanation): readonly string[] {
  const { mistake, next_step, first_difference, body_difference } = explanation;
  const cause = mistake
    ? [`Cause: ${mistake.text}`, `Fix:   ${mistake.remedy}`, `Id:    ${mistake.id}`]
    : ["Cause: none of the known mistakes.", `Next:  ${next_step ?? ""}`];
  if (body_difference) {
    const { at, before, body, yours, bytes } = body_difference;
    return [
      ...cause,
      `Body:  ${bytes} bytes were signed. The first that differs is byte ${at + 1}.`,
      `  sent  ${escaped(before + body)}`,
      `  yours ${escaped(before + yours)}`,
    ];
  }
  if (!first_difference) return cause;
  const { at, signed, yours } = first_difference;
  return [
    ...cause,
    `Differs at character ${at + 1}: ${shown(signed)} expected, ${shown(yours)} found.`,
  ];
}

const shown = (character: string) => (character === "" ? "its end" : `"${escaped(character)}"`);
