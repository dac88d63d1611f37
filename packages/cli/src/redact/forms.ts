import { isIPv4, isIPv6 } from "node:net";
import { ibanRemainder, isLuhn, luhnDigit } from "./check-digits.js";
import { placeLike } from "./places.js";
import type { Substitutes } from "./substitutes.js";

/** A form of sensitive text, such as an e-mail address. */
export interface Form {
  /** Yields the places where a text has this form, from left to right. */
  readonly find: (text: string) => Iterable<readonly [start: number, end: number]>;
  /** Returns the substitute, or undefined to leave the text to the other forms. */
  readonly replace: (found: string) => string | undefined;
}

/** Returns a form that a global pattern describes. */
export const matching = (pattern: RegExp, replace: Form["replace"]): Form => ({
  *find(text) {
    for (const { 0: found, index } of text.matchAll(pattern)) yield [index, index + found.length];
  },
  replace,
});

const localCharacter = /[\p{L}\p{M}\p{N}.!#$%'*+=^_`{|}~-]/u;
const domainPattern =
  /(?:[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,62}\.)+[\p{L}\p{M}\p{N}-]*[\p{L}\p{N}]|\[[\da-f.:]+\])/uy;

/** Yields the e-mail addresses of a text, also with a quoted local part. Takes linear time. */
export function* emailsIn(text: string): Generator<readonly [start: number, end: number]> {
  let from = 0;
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    let start = at;
    const quoted = /"[^"\n]{1,64}"$/.exec(text.slice(Math.max(from, at - 66), at));
    if (quoted) start -= quoted[0].length;
    else while (start > from && localCharacter.test(characterBefore(text, start))) start -= 1;
    while (start < at && text.charAt(start) === "'") start += 1;
    domainPattern.lastIndex = at + 1;
    const [domain = ""] = domainPattern.exec(text) ?? [];
    if (start === at || domain === "") continue;
    from = at + 1 + domain.length;
    yield [start, from];
  }
}

const characterBefore = (text: string, end: number) => text.charAt(end - 1);

const nameBefore = /(?:"(?:[^"\\\n]|\\.){1,200}"|[^<>,;:"\n@]{1,200})(?=\s{0,8}$)/;

/** Yields the display names before addresses in angle brackets (RFC 5322, section 3.4). */
export function* displayNamesIn(text: string): Generator<readonly [start: number, end: number]> {
  let from = 0;
  for (const { index } of text.matchAll(/<[^<>\s]{1,320}@/g)) {
    const start = Math.max(from, index - 210);
    const found = nameBefore.exec(text.slice(start, index));
    from = index;
    if (found && found[0].trim() !== "")
      yield [start + found.index, start + found.index + found[0].length];
  }
}

/** Yields the JSON Web Tokens of a text. Takes linear time: only the start of a word is searched for all of its parts. */
function* jwtsIn(text: string): Generator<readonly [start: number, end: number]> {
  const pattern = /(?<![\w-])(?=[\w-]+\.[\w-]{2,}\.)([\w-]*?\b)eyJ[\w-]{5,}\.[\w-]{2,}\.[\w-]*/g;
  for (const { 0: found, 1: before = "", index } of text.matchAll(pattern))
    yield [index + before.length, index + found.length];
}

const tokenCharacter = "[A-Za-z0-9_+/=.~-]";

/** Prefixes of keys and tokens whose senders mark them. */
const prefixes =
  "(?:wh(?:sec|sk|pk)_|svc_(?:live|test)_|(?:sk|pk|rk)_(?:live|test)_|[sprk]k[_-]|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|xapp-|npm_|pypi-|dop_v1_|shp(?:ss|at|ca|pa|ua|tka)_|pdl_(?:ntfset|live|sdbx)_|lin_(?:wh|api|oauth)_|SG\\.|key-|hf_|AKIA|ASIA|AIza|ya29\\.|re_|EAA|sq0[a-z]{3}-)";

/** Returns the forms that are replaced wherever they occur. */
export function strongForms(substitutes: Substitutes): readonly Form[] {
  const { bytes, digits, whole } = substitutes;
  return [
    matching(/-----BEGIN [A-Z ]{3,40}-----[^]*?(?:-----END [A-Z ]{3,40}-----|$)/g, (found) =>
      found.replaceAll(/(?<=-----BEGIN [A-Z ]{3,40}-----)[^]*?(?=-----END|$)/g, (inner) =>
        whole(inner),
      ),
    ),
    { find: jwtsIn, replace: (found) => jwtLike(found, bytes) },
    matching(
      new RegExp(`\\b(?:bearer|basic|token|apikey|digest) +${tokenCharacter}{6,}`, "gi"),
      (found) => {
        const [, scheme = "", token = ""] = /^(\w+ +)([^]*)$/.exec(found) ?? [];
        return /\d|[A-Z][a-z]*[A-Z]|[=_~+]/.test(token) || /^b[ea]/i.test(scheme)
          ? scheme + whole(token)
          : undefined;
      },
    ),
    matching(new RegExp(`(?<![A-Za-z0-9])${prefixes}${tokenCharacter}{4,}`, "g"), (found) => {
      const [prefix = ""] = new RegExp(`^${prefixes}`).exec(found) ?? [];
      const rest = found.slice(prefix.length);
      // A word such as `key-value` is not a key.
      if (/^(?:key-|re_|[sprk]k[_-]|hf_|npm_|pypi-)$/.test(prefix) && !/\d/.test(rest))
        return undefined;
      return prefix + whole(rest);
    }),
    { find: emailsIn, replace: (found) => emailLike(found, bytes) },
    matching(/(?<![\w.])\d(?:[ -]?\d){12,18}(?!\w|\.\d)/g, (found) => cardLike(found, substitutes)),
    matching(
      /(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,3})?(?![A-Za-z0-9])/g,
      (found) => ibanLike(found, whole),
    ),
    matching(/(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)/g, (found) =>
      isIPv4(found) ? ipv4Like(found, bytes) : undefined,
    ),
    matching(/(?<![\w:.])[\da-fA-F:]{3,45}(?:\.\d{1,3}){0,3}(?![\w:])/g, (found) =>
      isIPv6(found) && /\d|:.*:.*:/.test(found) ? ipv6Like(found, bytes) : undefined,
    ),
    ...coordinatePatterns.map((pattern) =>
      matching(pattern, (found) => placeLike(found, substitutes)),
    ),
    ...phonePatterns.map((pattern) =>
      matching(pattern, (found) => (isPhone(found) ? digits(found) : undefined)),
    ),
  ];
}

/** A latitude and a longitude with the precision of a house, or after `@` as in links to maps. */
const coordinatePatterns = [
  /(?<![\w.,-])-?\d{1,2}\.\d{3,16},\s?-?\d{1,3}\.\d{3,16}(?![\w.]|,\d)/g,
  /(?<=@)-?\d{1,2}\.\d{1,16},-?\d{1,3}\.\d{1,16}(?![\d.])/g,
];

const phonePatterns = [
  /(?<![\w+.])\+\(?\d[\d ().\u00a0/-]{5,22}\d(?!\w)/g,
  /(?<![\w.+-])(?:1[ .-])?\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?![\w-])/g,
  /(?<![\w.+-])00\d[\d ().\u00a0/-]{6,20}\d(?!\w)/g,
  /(?<![\w.+-])\(?0\d{2,4}\)?[ /-]\d{3,4}[ -]?\d{3,5}(?![\w-])/g,
  /(?<![\w.+-])0\d(?:[ .-]\d{2}){4}(?![\w-])/g,
];

/** Returns whether a text has as many digits as a telephone number (ITU-T E.164: at most 15). */
function isPhone(found: string): boolean {
  const { length } = found.replaceAll(/\D/g, "");
  return length >= 7 && length <= 17;
}

/** Returns an address in the domain of RFC 2606, section 3. The case does not matter. */
export const emailLike = (found: string, bytes: Substitutes["bytes"]): string =>
  `user-${bytes(`email:${found.normalize("NFKC").toLowerCase()}`, 6).toString("hex")}@example.com`;

const base64Json = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

function jwtLike(found: string, bytes: Substitutes["bytes"]): string {
  const subject = bytes(found, 8).toString("hex");
  const signature = bytes(`signature:${found}`, 32).toString("base64url");
  return `${base64Json({ alg: "HS256", typ: "JWT" })}.${base64Json({ sub: `redacted-${subject}` })}.${signature}`;
}

/** Returns a number of the same length that begins with 4242 and has a right check digit. */
export function cardLike(found: string, { bytes }: Pick<Substitutes, "bytes">): string | undefined {
  const plain = found.replaceAll(/\D/g, "");
  const isCard = /^(?:4\d{12}|[2-6]\d{13,18})$/.test(plain) && isLuhn(plain);
  if (!isCard || /^20\d{2}[01]\d[0-3]\d[0-2]\d[0-5]\d[0-5]\d$/.test(plain)) return undefined;
  const random = Array.from(bytes(`card:${plain}`, plain.length - 5), (byte) => byte % 10);
  const start = `4242${random.join("")}`;
  const made = start + luhnDigit(start);
  let used = 0;
  return found.replaceAll(/\d/g, () => made.charAt(used++));
}

/** Returns an IBAN of the same country with right check digits. Text after the IBAN stays. */
function ibanLike(found: string, whole: Substitutes["whole"]): string | undefined {
  for (let end = found.length; end >= 15; end -= 1) {
    const iban = found.slice(0, end).replaceAll(" ", "").toUpperCase();
    if (iban.length < 15 || found.charAt(end - 1) === " " || ibanRemainder(iban) !== 1) continue;
    const inner = whole(iban.slice(4)).toUpperCase();
    const country = iban.slice(0, 2);
    const check = String(98 - ibanRemainder(`${country}00${inner}`)).padStart(2, "0");
    const made = country + check + inner;
    let used = 0;
    const written = found.slice(0, end).replaceAll(/[^ ]/g, () => made.charAt(used++));
    return written + found.slice(end);
  }
  return undefined;
}

/** Returns an address of the networks for benchmarks (RFC 2544), of which there are 131,072. */
function ipv4Like(found: string, bytes: Substitutes["bytes"]): string {
  const [a = 0, b = 0, c = 0] = bytes(`ip:${found}`, 3);
  return `198.${18 + (a % 2)}.${b}.${c}`;
}

/** Returns an address of the network for documentation (RFC 3849). */
function ipv6Like(found: string, bytes: Substitutes["bytes"]): string {
  const groups = bytes(`ip:${found.toLowerCase()}`, 12).toString("hex").match(/.{4}/g) ?? [];
  return `2001:db8:${groups.map((group) => group.replace(/^0{1,3}/, "")).join(":")}`;
}

/** A token by its look: many hex digits, or letters of both cases and digits. */
export const longHex = /(?<![\w-])[\da-fA-F]{32,}(?![\w-])/g;
export const longMixed = /(?<![\w+/=.-])[\w+/-]{20,}={0,2}(?![\w+/=-])/g;

export const isMixed = (text: string): boolean =>
  /\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text);

/** Dates and times of ISO 8601 and of HTTP. */
const date =
  /^(?:\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?|(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d(?::\d\d)? (?:GMT|UTC|Z|[+-]\d{4}))$/;

export const isDate = (text: string): boolean => date.test(text);

export const isUuid = (text: string): boolean =>
  /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i.test(text);
