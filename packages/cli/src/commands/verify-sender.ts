import {
  explainRequest,
  judgeRequest,
  type RequestExplanation,
} from "@svc-webhooks/explain/senders";
import type { Sender } from "@svc-webhooks/schemes/senders";
import type { Context, ExitCode } from "../command.js";
import { paint, type Line } from "../paint.js";
import {
  readPreviousSecrets,
  requireSecret,
  type previousSecretOptions,
  type secretOptions,
} from "../lib/secret.js";
import { differenceLines } from "../lib/difference.js";
import { readArrived, type arrivedOptions } from "../schemes/arrived.js";
import { remedyOf } from "../schemes/advice.js";
import { keyOf } from "../schemes/key.js";

type VerifyContext = Context<
  typeof arrivedOptions &
    typeof secretOptions &
    typeof previousSecretOptions & {
      readonly explain: { readonly type: "boolean"; readonly text: string };
    }
>;

/** Verifies a request with a receiver, and prints its outcome. */
export async function verifySender(sender: Sender, context: VerifyContext): Promise<ExitCode> {
  const { json, options, show } = context;
  const secret = await requireSecret(context);
  const previousSecrets = await readPreviousSecrets(context);
  for (const one of previousSecrets) keyOf(sender.scheme, one, "previous secret");
  const arrived = await readArrived(context);
  const request = { ...arrived, scheme: sender.scheme, secret };
  const isExplained = json || options.explain;
  const explanation: RequestExplanation = isExplained
    ? await explainRequest({ ...request, previousSecrets })
    : await judgeRequest(request);
  const { outcome, text, details, mistake, next_step } = explanation;
  const ok = outcome.status === 200;
  const { happened, cause, fix } = text;
  show(
    {
      ok,
      outcome: outcome.code,
      delivery_id: outcome.deliveryId ?? null,
      type: outcome.type ?? null,
      happened,
      cause: mistake?.text ?? cause,
      fix: (mistake && remedyOf(mistake)) ?? fix,
      ...(details && { details }),
      mistake: mistake?.id ?? null,
      ...(next_step !== undefined && { next_step }),
    },
    linesOf(explanation, isExplained),
  );
  return ok ? 0 : 1;
}

function linesOf(
  { outcome, isGenuine, text, details, mistake, next_step: next }: RequestExplanation,
  isExplained: boolean,
): readonly Line[] {
  const { code, status, deliveryId, type } = outcome;
  if (status === 200) {
    const what = [code, deliveryId && `delivery ${deliveryId}`, type && `type ${type}`];
    return [
      [paint("green", "The signature is genuine.")],
      `Outcome: ${what.filter(Boolean).join(", ")}`,
      ...(code === "handshake" ? [text.happened] : []),
    ];
  }
  const verdict = isGenuine ? "The signature is genuine, but the delivery is refused:" : "Refused:";
  const advice = mistake
    ? [`Cause: ${mistake.text}`, `Fix:   ${remedyOf(mistake)}`, `Id:    ${mistake.id}`]
    : [`Cause: ${text.cause}`, `Fix:   ${text.fix}`];
  return [
    [paint("red", verdict), ` ${code}.`],
    text.happened,
    ...(details ? [`Log:   ${details}`] : []),
    ...advice,
    ...(next === undefined ? [] : [`Next:  No known mistake explains this. ${next}`]),
    ...(mistake?.body_difference
      ? differenceLines(mistake.body_difference, "given", "signed")
      : []),
    ...(isGenuine || isExplained ? [] : ["Add --explain to check for common mistakes."]),
  ];
}
