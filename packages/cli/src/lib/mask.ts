/** The secrets that this process has read. */
const known = new Set<string>();

/**
 * The minimum length of a secret that is masked wherever it occurs. A shorter one might occur in other text by chance.
 */
const shortest = 8;

/** Records a secret or an API key so that it is masked from now on, and returns it. */
export function conceal(secret: string): string {
  if (secret.length >= shortest) known.add(secret);
  return secret;
}

/** A character of a secret or an API key, for regular expressions: printable ASCII except the space. */
export const secretCharacter = "[!-~]";

/** The characters after a prefix, including the ellipsis of a secret that is already masked. */
const secretText = `(?:${secretCharacter}|…){4,}`;

const patterns = [
  [new RegExp(`whsec_${secretText}`, "g"), "whsec_…"],
  [new RegExp(String.raw`\bsvc_(live|test)_${secretText}`, "g"), "svc_$1_…"],
] as const;

/**
 * Masks the secrets that this process has read, and everything that looks like a signing secret or an API key: a known
 * prefix followed by at least four characters, including any punctuation directly after them.
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
  // A secret may be the start of a longer one.
  const longestFirst = Array.from(known).toSorted((a, b) => b.length - a.length);
  for (const secret of longestFirst) result = result.replaceAll(secret, "…");
  for (const [pattern, shown] of patterns) result = result.replaceAll(pattern, shown);
  return result;
}
