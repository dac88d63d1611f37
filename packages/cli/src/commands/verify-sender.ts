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
import { explainRefusal, nextStep } from "../schemes/explain.js";
import { keyOf } from "../schemes/key.js";
import { judge, type Judgement } from "../schemes/judge.js";
import type { SenderMistake } from "../schemes/mistake.js";
import type { Sender } from "../schemes/table.js";

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
  const judgement = await judge(sender.scheme, secret, arrived);
  const { outcome, text, details } = judgement;
  const ok = outcome.status === 200;
  const refused = { sender, arrived, judgement, secret, previousSecrets };
  const isExplained = !judgement.isGenuine && (json || options.explain);
  const mistake = isExplained ? await explainRefusal(refused) : undefined;
  const next = isExplained && !mistake ? nextStep(refused) : undefined;
  const { happened, cause, fix } = text;
  show(
    {
      ok,
      outcome: outcome.code,
      delivery_id: outcome.deliveryId ?? null,
      type: outcome.type ?? null,
      happened,
      cause: mistake?.text ?? cause,
      fix: mistake?.remedy ?? fix,
      ...(details && { details }),
      mistake: mistake?.id ?? null,
      ...(next !== undefined && { next_step: next }),
    },
    linesOf(judgement, mistake, next, isExplained),
  );
  return ok ? 0 : 1;
}

function linesOf(
  { outcome, isGenuine, text, details }: Judgement,
  mistake: SenderMistake | undefined,
  next: string | undefined,
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
    ? [`Cause: ${mistake.text}`, `Fix:   ${mistake.remedy}`, `Id:    ${mistake.id}`]
    : [`Cause: ${text.cause}`, `Fix:   ${text.fix}`];
  return [
    [paint("red", verdict), ` ${code}.`],
    text.happened,
    ...(details ? [`Log:   ${details}`] : []),
    ...advice,
    ...(next === undefined ? [] : [`Next:  No known mistake explains this. ${next}`]),
    ...(mistake?.difference ? differenceLines(mistake.difference, "given", "signed") : []),
    ...(isGenuine || isExplained ? [] : ["Add --explain to check for common mistakes."]),
  ];
}
