/** The secrets that this process has read. */
const known = new Set<string>();

/**
 * The minimum length of a secret that is masked wherever it occurs. A shorter one may occur in other text by
 * chance.
 */
const shortest = 8;

/** Records a secret or an API key, which is masked from now on, and returns it. */
export function conceal(secret: string): string {
  if (secret.length >= shortest) known.add(secret);
  return secret;
}

/** A character of a secret or an API key, for regular expressions: printable ASCII without the space. */
export const secretCharacter = "[!-~]";

/** The characters after a prefix, including the ellipsis of a secret that is already masked. */
const secretText = `(?:${secretCharacter}|…){4,}`;

const patterns = [
  [new RegExp(`whsec_${secretText}`, "g"), "whsec_…"],
  [new RegExp(String.raw`\bsvc_(live|test)_${secretText}`, "g"), "svc_$1_…"],
] as const;

/**
 * Replaces the secrets that this process has read, and everything that resembles a signing secret or an API
 * key: its prefix and at least four characters, with the punctuation that follows them.
 *
 * @param revealed a secret that stays, because printing it is the command's purpose
 */
export function masked(text: string, revealed = ""): string {
  if (revealed !== "" && text.includes(revealed)) {
    return text
      .split(revealed)
      .map((part) => masked(part))
      .join(revealed);
  }
  let result = text;
  for (const secret of known) result = result.replaceAll(secret, "…");
  for (const [pattern, shown] of patterns) result = result.replaceAll(pattern, shown);
  return result;
}
