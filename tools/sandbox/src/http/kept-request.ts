import type { AccountRule } from "../assumptions/table.js";
import { hashedKey, maskedKey, withoutSecrets } from "../lib/mask.js";
import type { AccountId, CallRecord } from "../state/records.js";
import type { World } from "../world.js";
import { decoded } from "./route.js";

/** Matches the names of headers and parameters whose values are always masked. */
const secretName = /authorization|cookie|token|secret|password|api[-_]?key/i;

/** The minimum length of a key that is masked wherever it occurs. A shorter key could occur in other text by chance. */
const shortest = 8;

const word = /[^\s,;&?/=:"'<>()]+/g;

/** Matches words together with `/` and `=`, which a signing secret may contain. */
const words = /[^\s,;&?:"'<>()]+/g;

type Head = Pick<Request, "method" | "url" | "headers">;

/** Creates the call record of a request, without its body and its response. */
export const newCall = (
  { ids, clock, ledger }: World,
  request: Head,
  account: AccountId | undefined,
): CallRecord => ({
  id: ids.next("call"),
  account,
  at: clock.now(),
  ...keptRequest(request, ledger.get("auth")),
  status: 0,
  ms: 0,
  events: [],
});

/**
 * Returns the stored parts of a request, except its body, with secrets masked: the value of each header and parameter
 * that `secretName` matches, and each signing secret and API key of at least `shortest` characters, wherever it occurs.
 * Text counts as an API key if such a header or parameter contains it, if A-23 lists it, or if it has the service's
 * format.
 */
function keptRequest(
  request: Head,
  rule: AccountRule,
): Pick<CallRecord, "method" | "path" | "idempotencyKey" | "headers"> {
  const { pathname, search, searchParams } = new URL(request.url);
  const keys = new Set<string>();
  for (const [name, value] of [["", pathname], ...searchParams, ...request.headers] as const) {
    const candidates = secretName.test(name)
      ? value.split(" ").slice(-1)
      : [value, ...(decoded(value).match(word) ?? [])].filter((text) => isKey(text, rule));
    for (const key of candidates) if (key.length >= shortest) keys.add(key);
  }
  // Longer keys are masked first, because a key may be part of a longer one.
  const longestFirst = [...keys].toSorted((a, b) => b.length - a.length);
  const withoutPlain = (text: string) => {
    let result = text;
    for (const key of longestFirst) result = result.replaceAll(key, maskedKey(key));
    return result;
  };
  const withoutKeys = (text: string) =>
    withoutEncoded(
      withoutPlain(withoutEncoded(text, words, (plain) => withoutSecrets(plain))),
      word,
      withoutPlain,
    );
  const query = search.split("&").map((pair) => {
    const [name = "", ...rest] = pair.split("=");
    return secretName.test(decoded(name)) ? `${name}=${maskedKey(decoded(rest.join("=")))}` : pair;
  });
  const headers = Array.from(
    request.headers,
    ([name, value]) =>
      [name, secretName.test(name) ? maskedCredential(value) : withoutKeys(value)] as const,
  );
  return {
    method: request.method,
    path: withoutKeys(pathname + query.join("&")),
    idempotencyKey: headers.find(([name]) => name === "idempotency-key")?.[1],
    headers,
  };
}

/** Masks the parts of a text that `pattern` matches, which may be percent-encoded. Only changed parts are decoded. */
const withoutEncoded = (text: string, pattern: RegExp, mask: (plain: string) => string) =>
  text.replaceAll(pattern, (part) => {
    const plain = decoded(part);
    const shown = mask(plain);
    return shown === plain ? part : shown;
  });

/** Whether a text is long enough to be masked, and either has the format of an API key or is a key that A-23 lists. */
const isKey = (text: string, rule: AccountRule) =>
  text.length >= shortest &&
  (/^svc_(?:live|test)_/.test(text) ||
    (rule.mode === "keys" && rule.keys.includes(hashedKey(text))));

/** Masks the credentials after the scheme Bearer or Basic, or the whole value if it begins with neither. */
function maskedCredential(value: string): string {
  const [, scheme = "", key = ""] = /^(Bearer |Basic )? *(.*)$/is.exec(value) ?? [];
  return scheme === "" ? "…" : `${scheme}${maskedKey(key)}`;
}
