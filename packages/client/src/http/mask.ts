/**
 * Masks the API key, which a proxy or an injected `fetch` may repeat, and signing secrets, including any punctuation
 * directly after them.
 */
export const mask = (text: string, apiKey: string): string =>
  // A secret may contain the key, so secrets are replaced first.
  text.replaceAll(/whsec_[!-~]+/g, "[secret]").replaceAll(apiKey, "[API key]");

/**
 * Returns a server's text as one line of at most `length` characters, with secrets masked, and with control and
 * invisible characters replaced by spaces; undefined if nothing is left.
 */
export const oneLine = (text: string, apiKey: string, length: number): string | undefined =>
  mask(text, apiKey)
    .replaceAll(/[\s\p{C}]+/gu, " ")
    .trim()
    .slice(0, length) || undefined;

/** Copies headers with the API key and signing secrets masked, so that printing the response does not reveal them. */
export const maskedHeaders = (headers: Headers, apiKey: string): Headers =>
  new Headers(
    Array.from(headers, ([name, value]): [string, string] => [name, mask(value, apiKey)]),
  );

/**
 * Copies an error's name, message, code and up to four nested causes, with the API key and signing secrets masked.
 * Omits other properties, because HTTP clients may put the complete request into them.
 */
export function plainError(error: unknown, apiKey: string, depth = 0): Error {
  const { name, message, code, cause } = Object(error) as Partial<
    Record<keyof Error | "code", unknown>
  >;
  const masked = (value: unknown) => (typeof value === "string" ? mask(value, apiKey) : undefined);
  const copy = new Error(masked(message) ?? masked(error) ?? "unknown error");
  Object.assign(copy, { name: masked(name) ?? "Error", code: masked(code) });
  // An error may be its own cause, so the depth is limited.
  if (cause && depth < 4) copy.cause = plainError(cause, apiKey, depth + 1);
  return copy;
}
