import { saw, type Examining } from "./examining.js";
import { finding, type Finding } from "./findings.js";
import type { Guess } from "./guesses.js";
import { isSuccess, type Reply } from "./probe.js";

const kinds = {
  parsed: "parser_before_receiver",
  altered: "body_altered",
  key: "wrong_secret",
  form: "wrong_signature_form",
} as const;

/** Sends the body with the signatures that mistaken receivers compute, until one is accepted. */
export async function identify(
  body: Uint8Array,
  guesses: readonly Guess[],
  refusal: Reply,
  { ask, expectMore, signing }: Examining,
): Promise<Finding | undefined> {
  // The genuine signature has already been rejected, so guesses that equal it are skipped, as are repeated guesses.
  const genuine = await signing.genuine(body);
  const all = [genuine, ...guesses.map(({ signature }) => signature)];
  const distinct = guesses.filter(({ signature }, index) => all.indexOf(signature) === index + 1);
  expectMore(distinct.length);
  for (const [index, { kind, signature, mistake: known, ...facts }] of distinct.entries()) {
    const reply = await ask({
      name: "the signature of a mistaken receiver",
      body,
      signature,
      ...facts,
    });
    if (!isSuccess(reply)) continue;
    expectMore(index + 1 - distinct.length);
    const mistake = known ?? (await signing.explain(body, signature));
    return finding(
      kinds[kind],
      `${saw(refusal)} The receiver accepts a signature that was computed with a common mistake.`,
      {
        ...(mistake && {
          mistake: mistake.id,
          cause: mistake.text,
          ...(kind === "parsed" ? {} : { fix: mistake.remedy }),
        }),
      },
    );
  }
  return undefined;
}
