/** The secrets that were passed to {@link conceal}, except short ones. */
const known = new Set<string>();

/**
 * The minimum length of a secret that is masked wherever it occurs. A shorter one might occur in other text by chance.
 */
const shortest = 8;

/** Registers a secret or an API key for {@link masked}, unless it is shorter than `shortest`. Returns the text. */
export function conceal(secret: string): string {
  if (secret.length >= shortest) known.add(secret);
  return secret;
}

/** The source of a pattern for one character of a secret or an API key: printable ASCII except the space. */
export const secretCharacter = "[!-~]";

/** The source of a pattern for the text after a prefix. It also matches the ellipsis of a masked secret. */
const secretText = `(?:${secretCharacter}|…){4,}`;

const patterns = [
  [new RegExp(`whsec_${secretText}`, "g"), "whsec_…"],
  [new RegExp(String.raw`\bsvc_(live|test)_${secretText}`, "g"), "svc_$1_…"],
] as const;

/**
 * Masks the secrets that `conceal` has registered, and texts that look like a signing secret or an API key: a
 * known prefix and at least four characters, including any punctuation directly after them.
 *
 * @param revealed a secret that is not masked, because printing it is the command's purpose
 */
export function masked(text: string, revealed = ""): string {
  if (revealed !== "" && text.includes(revealed)) {
    return text
      .split(revealed)
      .map((part) => masked(part))
      .join(revealed);
  }
  let result = text;
  // Replaces longer secrets first, because a secret may be the start of a longer one.
  const longestFirst = Array.from(known).toSorted((a, b) => b.length - a.length);
  for (const secret of longestFirst) result = result.replaceAll(secret, "…");
  for (const [pattern, shown] of patterns) result = result.replaceAll(pattern, shown);
  return result;
}
