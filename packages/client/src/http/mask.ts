/**
 * Replaces the API key, which a proxy or an injected `fetch` may repeat, and signing secrets, with the
 * punctuation that follows them.
 */
export const mask = (text: string, apiKey: string): string =>
  // A secret may contain the key.
  text.replaceAll(/whsec_[!-~]+/g, "[secret]").replaceAll(apiKey, "[API key]");

/**
 * Returns a server's text as one line of at most `length` characters, without terminal sequences, invisible
 * characters and the key.
 */
export const oneLine = (text: string, apiKey: string, length: number): string | undefined =>
  mask(text, apiKey)
    .replaceAll(/[\s\p{C}]+/gu, " ")
    .trim()
    .slice(0, length) || undefined;

/** Copies headers without the key, so that nothing that prints the response contains it. */
export const maskedHeaders = (headers: Headers, apiKey: string): Headers =>
  new Headers(
    Array.from(headers, ([name, value]): [string, string] => [name, mask(value, apiKey)]),
  );

/**
 * Copies an error without the API key and without the properties of other clients, which may contain the
 * complete request. Its causes are copied too.
 */
export function plainError(error: unknown, apiKey: string, depth = 0): Error {
  const { name, message, code, cause } = Object(error) as Partial<
    Record<keyof Error | "code", unknown>
  >;
  const masked = (value: unknown) => (typeof value === "string" ? mask(value, apiKey) : undefined);
  const copy = new Error(masked(message) ?? masked(error) ?? "unknown error");
  Object.assign(copy, { name: masked(name) ?? "Error", code: masked(code) });
  // An error may be its own cause.
  if (cause && depth < 4) copy.cause = plainError(cause, apiKey, depth + 1);
  return copy;
}
