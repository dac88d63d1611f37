import { percentDecoded } from "./encodings.js";
import { isDate, isMixed, isUuid } from "./forms.js";
import { isVocabulary, type NameRules } from "./names.js";

/** A URL with an authority, in a text. */
export const urlPattern = /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s"'<>\\^`{|}]+/gi;

export interface UrlContext {
  readonly names: NameRules;
  readonly whole: (text: string) => string;
  readonly redact: (text: string, level: number) => string;
  readonly byName: (names: readonly string[], text: string, level: number) => string;
  readonly host: (text: string) => string;
  /** Returns whether a segment of a path is an id of the capture, which stays. */
  readonly isKeptId: (token: string) => boolean;
}

export interface UrlRules {
  readonly url: (text: string, level: number) => string;
  /** Rewrites the path of a request, with its query. */
  readonly path: (text: string, level: number) => string;
  /** Rewrites `name=value` pairs. In a form, unlike in a URL, a value without a known form stays. */
  readonly pairs: (text: string, isForm: boolean, level: number) => string;
}

/** The most segments and parameters of a URL that are searched. What follows the host of a longer URL is replaced. */
const mostParts = 2_000;

export function createUrlRules(context: UrlContext): UrlRules {
  const { whole, redact, byName, names, isKeptId } = context;

  const encoded = (raw: string, change: (text: string) => string, isForm = false): string => {
    const text = percentDecoded(isForm ? raw.replaceAll("+", " ") : raw);
    if (text === undefined) return whole(raw);
    const written = change(text);
    if (written === text) return raw;
    const result = encodeURIComponent(written);
    return isForm ? result.replaceAll("%20", "+") : result;
  };

  const pairs: UrlRules["pairs"] = (text, isForm, level) =>
    text
      .split("&")
      .map((pair) => {
        const at = pair.indexOf("=");
        const rawName = at < 0 ? pair : pair.slice(0, at);
        const name = encoded(rawName, (one) => redact(one, level), true);
        if (at < 0) return name;
        const own = percentDecoded(rawName.replaceAll("+", " ")) ?? rawName;
        const value = encoded(
          pair.slice(at + 1),
          (one) => {
            const written = byName([own], one, level);
            const isKept = isForm || written !== one || names.isStructural(own) || isHarmless(one);
            return isKept ? written : whole(one);
          },
          true,
        );
        return `${name}=${value}`;
      })
      .join("&");

  const path: UrlRules["path"] = (text, level) => {
    if (text.split(/[/&]/, mostParts + 1).length > mostParts)
      return text.charAt(0) + whole(text.slice(1));
    const [, before = "", query, fragment] =
      /^([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/.exec(text) ?? [];
    let isSecret = false;
    const segments = before.split("/").map((segment) => {
      const written = encoded(segment, (one) =>
        isToken(one) || (isSecret && !isVocabulary(one)) || (isShortToken(one) && !isKeptId(one))
          ? whole(one)
          : redact(one, level),
      );
      isSecret ||= beforeToken.test(segment);
      return written;
    });
    return [
      segments.join("/"),
      query === undefined ? "" : `?${pairs(query, false, level)}`,
      fragment === undefined
        ? ""
        : `#${fragment.includes("=") ? pairs(fragment, false, level) : encoded(fragment, (one) => (isHarmless(one) ? redact(one, level) : whole(one)))}`,
    ].join("");
  };

  return {
    path,
    pairs,
    url(text, level) {
      const [, scheme = "", authority = "", rest = ""] =
        /^([^:]+:\/\/)([^/?#]*)([^]*)$/.exec(text) ?? [];
      const at = authority.lastIndexOf("@");
      const user = at < 0 ? "" : `${authority.slice(0, at).replaceAll(/[^:]+/g, whole)}@`;
      return scheme + user + context.host(authority.slice(at + 1)) + path(rest, level);
    },
  };
}

/** Returns whether a value of a URL identifies nobody: a word, a small number, a date or a flag. */
const isHarmless = (text: string): boolean =>
  /^(?:[a-z_-]{0,20}|\d{1,6}|[A-Z]{2,3}|[a-z]{2}-[A-Z]{2})$/.test(text) || isDate(text);

/** Returns whether a segment of a path looks like a token. Ids such as UUIDs stay. */
const isToken = (text: string): boolean =>
  !isUuid(text) && /^[\w~=-]{16,}$/.test(text) && /\d/.test(text) && /[A-Za-z]/.test(text);

/** Returns whether a segment has a digit and letters of both cases, so that it is not a word. */
const isShortToken = (text: string): boolean => /^[\w~=-]{6,}$/.test(text) && isMixed(text);

/** Segments of links that are followed by a token. */
const beforeToken =
  /^(?:(?:password-?)?reset|confirm(?:ation)?|verify|verification|activate|invites?|invitations?|unsubscribe|log-?in|sign-?in|magic(?:-?link)?)$/i;
