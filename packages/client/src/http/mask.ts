/** Replaces the API key, which a proxy or an injected `fetch` may repeat, and signing secrets. */
export const mask = (text: string, apiKey: string): string =>
  text.replaceAll(apiKey, "[API key]").replaceAll(/whsec_[\w+/=-]+/g, "[secret]");

/** A copy, so that nothing that shows a response contains the key. */
export const maskedHeaders = (headers: Headers, apiKey: string): Headers =>
  new Headers(
    Array.from(headers, ([name, value]): [string, string] => [name, mask(value, apiKey)]),
  );

/**
 * A copy of an error without the API key and without the properties of other clients, which may contain
 * the whole request. Its causes are copied too.
 */
export function plainError(error: unknown, apiKey: string, depth = 0): Error {
  const { name, message, code, stack, cause } = Object(error) as Partial<
    Record<"name" | "message" | "code" | "stack" | "cause", unknown>
  >;
  const text = typeof message === "string" ? message : String(error);
  const copy = new Error(mask(text, apiKey));
  if (typeof name === "string") copy.name = mask(name, apiKey);
  if (typeof stack === "string") copy.stack = mask(stack, apiKey);
  if (typeof code === "string") Object.assign(copy, { code: mask(code, apiKey) });
  // An error may be its own cause.
  if (cause !== undefined && depth < 4) copy.cause = plainError(cause, apiKey, depth + 1);
  return copy;
}
