import type { HeaderList } from "../lib/target.js";
import { wordsOf } from "./names.js";
import type { Redactor } from "./redactor.js";

/** Headers that are never saved: signatures, credentials, and what proxies add about the client and the network. */
const dropped =
  /signature|hmac|digest|(?:^|-)md5|^(?:proxy-.*|www-authenticate|set-cookie2?|forwarded|via|etag|content-encoding)$|^x-(?:forwarded|real|client|envoy|amzn|original|cluster)(?:-|$)|^(?:cf|fly|fastly|true-client|x-vercel|x-azure|x-appengine|x-nf)-/i;

const credentialWords = new Set(
  "token tokens secret secrets key keys password auth authorization authentication authenticate cookie cookie2 session credential credentials jwt csrf xsrf apikey cert certificate".split(
    " ",
  ),
);

const isCredential = (name: string) =>
  name.toLowerCase() !== "idempotency-key" &&
  wordsOf(name).some((word) => credentialWords.has(word));

/** Headers whose values describe the body or the program, and stay. */
const kept = /^(?:accept(?:-encoding)?|connection|content-type|transfer-encoding|user-agent)$/i;

/**
 * Returns the headers that may be saved. The signature has no value.
 *
 * @param signature the name of its header, in lower case
 */
export function redactedHeaders(
  headers: HeaderList,
  signature: string,
  redactor: Redactor,
): HeaderList {
  const isFirst = (name: string, index: number) =>
    headers.findIndex(([one]) => one.toLowerCase() === name) === index;
  return headers.flatMap(([name, value], index) => {
    const lower = name.toLowerCase();
    if (lower === signature && isFirst(signature, index)) return [[name, ""] as const];
    if (dropped.test(name) || isCredential(name)) return [];
    if (lower === "host") return [[name, "localhost"] as const];
    return [[name, kept.test(name) ? redactor.text(value) : redactor.field(name, value)] as const];
  });
}

/** Returns the headers with those of a new signature, in the places of the old ones, and the right length. */
export function signedHeaders(
  headers: HeaderList,
  signature: Readonly<Record<string, string>>,
  length: number,
): HeaderList {
  const missing = Object.entries(signature).filter(
    ([name]) => !headers.some(([one]) => one.toLowerCase() === name),
  );
  const written = headers.map(([name, value]) => {
    const lower = name.toLowerCase();
    return [
      name,
      lower === "content-length" ? String(length) : (signature[lower] ?? value),
    ] as const;
  });
  return [...written, ...missing];
}
