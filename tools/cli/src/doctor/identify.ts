import { replyText, type Examining } from "./examining.js";
import { finding, type Finding } from "./findings.js";
import type { Guess } from "./guesses.js";
import { isSuccess, type Reply } from "./probe.js";
import type { Guesses } from "./signing.js";

const kinds = {
  parsed: "parser_before_receiver",
  altered: "body_altered",
  key: "wrong_secret",
  form: "wrong_signature_form",
} as const;

/**
 * Sends the delivery with one guessed signature after another, until the receiver accepts one. Resolves to the finding
 * about the mistake behind that signature, or to undefined if none is accepted.
 *
 * @param refusal the reply to the genuine delivery
 */
export async function identify(
  { delivery }: Pick<Guesses, "delivery">,
  guesses: readonly Guess[],
  refusal: Reply,
  { ask, expectMore, signing }: Examining,
): Promise<Finding | undefined> {
  const { headers, body } = delivery;
  const { header } = signing;
  // The genuine signature has already been rejected, so guesses that equal it are skipped, as are repeated guesses.
  const all = [headers[header], ...guesses.map(({ signature }) => signature)];
  const distinct = guesses.filter(({ signature }, index) => all.indexOf(signature) === index + 1);
  expectMore(distinct.length);
  for (const [index, { kind, signature, mistake: known }] of distinct.entries()) {
    const reply = await ask({
      name: "the signature of a mistaken receiver",
      body,
      headers: { ...headers, [header]: signature },
    });
    if (!isSuccess(reply)) continue;
    expectMore(index + 1 - distinct.length);
    const mistake = known ?? (await signing.explain(body, signature));
    return finding(
      kinds[kind],
      `${replyText(refusal)} The receiver accepts a signature that was computed with a common mistake.`,
      {
        ...(mistake && {
          mistake: mistake.id,
          cause: mistake.cause,
          ...(kind === "parsed" ? {} : { fix: mistake.fix }),
        }),
      },
    );
  }
  return undefined;
}
