import { sha256Hex } from "../search/hash.js";
import { describeMs } from "./describe-ms.js";
import { malformed, missing } from "./header-mistakes.js";
import { judge } from "./judge.js";
import type { Look, Refused, SenderMistake } from "./mistake.js";
import { mismatched } from "./signature-mistakes.js";
import { timesIn } from "./signed-time.js";

/**
 * Resolves to the mistake that made a receiver refuse a request, or to undefined if none is known. The request stays
 * refused: only altered copies of it are judged.
 */
export async function explainRefusal(refused: Refused): Promise<SenderMistake | undefined> {
  const { code } = refused.judgment.outcome;
  if (code === "signature_stale") return explainStale(refused);
  return firstOf(looks[code] ?? [], refused);
}

const looks: Readonly<Record<string, readonly Look[]>> = {
  signature_missing: missing,
  signature_malformed: malformed,
  signature_mismatch: mismatched,
};

async function firstOf(all: readonly Look[], refused: Refused): Promise<SenderMistake | undefined> {
  for (const look of all) {
    const mistake = await look(refused);
    if (mistake) return mistake;
  }
  return undefined;
}

/**
 * Judges the request as if it had arrived at its signed time. Resolves to `stale` if it would be accepted then, and
 * otherwise to the mistake for which it would be refused. Resolves to undefined if no such mistake or no time is found.
 */
async function explainStale(refused: Refused): Promise<SenderMistake | undefined> {
  const { scheme, arrived, secret } = refused;
  for (const { at } of timesIn(scheme, arrived)) {
    const then = { ...arrived, at };
    const judgment = await judge(scheme, secret, then);
    if (judgment.outcome.code === "signature_stale") continue;
    if (!judgment.isGenuine) return explainRefusal({ ...refused, arrived: then, judgment });
    return staleness(arrived.at - at);
  }
  return undefined;
}

const staleness = (ageMs: number): SenderMistake => ({
  id: "stale",
  cause: `The signature is genuine, but it was made ${describeMs(Math.abs(ageMs))} ${ageMs > 0 ? "before" : "after"} the time used for verification.`,
  fix: `If every delivery is refused like this, the clock of the receiver's machine is probably ${ageMs > 0 ? "fast" : "slow"}. Correct it.`,
});

/** The first thing to check if a signature is wrong and no mistake is known, by the name of the scheme. */
const firstChecks: Readonly<Record<string, string>> = {
  stripe:
    "Each Stripe endpoint has its own secret, and `stripe listen` uses yet another secret. Compare the last characters of the secrets.",
  shopify:
    "Shopify signs with the client secret of the app that created the subscription, and with a different key for webhooks created in the admin settings. Check that the secret does not belong to another app.",
};

/** Resolves to the next step if no mistake is known: the values to compare. */
export async function nextStep({ scheme, arrived: { body } }: Refused): Promise<string> {
  const hash = await sha256Hex(body);
  const check = firstChecks[scheme.name];
  const own = check === undefined ? "" : `${check} `;
  return `${own}This body has ${body.length} bytes, with the SHA-256 ${hash}. If the sender signed exactly these bytes, the secret is probably wrong.`;
}
