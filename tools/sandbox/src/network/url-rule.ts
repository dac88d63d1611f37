import { lookup as resolve } from "node:dns/promises";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * The addresses to which deliveries may be sent (assumption A-21).
 *
 * - `loopback`: `http` or `https` to 127.0.0.0/8 and `::1`, so that the sandbox stays offline.
 * - `private`: the same, and private addresses (RFC 1918 and RFC 4193), such as those of containers and of their host.
 *   Link-local addresses and those in {@link metadata} are refused, because clouds serve a machine's credentials there.
 * - `strict`: `https` to public unicast addresses, as the interface document specifies.
 */
export type UrlRule = "loopback" | "private" | "strict";

/** A resolved address: IPv4 as four decimal numbers, or IPv6 without brackets. */
export interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Resolves to every address of a host name. Rejects if there is none. */
export type Lookup = (hostname: string) => Promise<readonly Address[]>;

const maxLength = 2_048;
const tooLong = { refused: "The URL is longer than 2,048 characters. Shorten it." };

/** Looks up a name with the system's resolver, including its hosts file. The addresses are in the resolver's order. */
export const systemLookup: Lookup = async (hostname) =>
  // The cast is safe: the type of `family` is `number`, but Node returns only 4 and 6.
  (await resolve(hostname, { all: true, verbatim: true })) as Address[];

/**
 * Checks a URL as far as that is possible without DNS.
 *
 * The URL must be absolute, at most 2,048 characters long (also when percent-encoded), and without a user name, a
 * password or a fragment. Its host must be written exactly as the URL parser understands it, apart from upper and lower
 * case: `127.1`, `0x7f000001`, full-width digits, a percent-encoded host, a non-ASCII name and a trailing dot are
 * rejected, because other programs may read them as another host. If the host is an address, the rule must allow the
 * address. `strict` also rejects `http:` and localhost. Port 0 is always rejected.
 *
 * The `href` of an accepted URL is accepted too.
 *
 * @returns the parsed URL, or sentences that state the reason and the fix
 */
export function checkUrl(
  text: string,
  rule: UrlRule,
): { readonly url: URL } | { readonly refused: string } {
  if (text.length > maxLength) return tooLong;
  // The URL parser would remove some of these characters and turn a backslash into a slash, so this check comes first.
  if (/[\s\p{C}\\]/u.test(text)) {
    return refuse(
      "The URL contains a space, an invisible character or a backslash. Remove it or percent-encode it.",
    );
  }
  const [, authority] = /^https?:\/\/([^/?#]+)/i.exec(text) ?? [];
  const url = parse(text);
  if (authority === undefined || url === undefined) {
    return refuse(`The URL is not valid. Write it like ${examples[rule]}.`);
  }
  if (url.href.length > maxLength) return tooLong;
  if (authority.includes("@")) {
    return refuse("The URL contains a user name or a password. Remove it.");
  }
  if (text.includes("#")) {
    return refuse(
      "The URL contains a fragment, which is never sent. Remove the # and everything after it.",
    );
  }
  if (rule === "strict" && url.protocol !== "https:") {
    return refuse(`The URL does not use HTTPS. ${fixes.strict}`);
  }
  if (url.port === "0") {
    return refuse(
      "The URL has port 0, which cannot accept connections. Use the port of your receiver.",
    );
  }
  const address = literal(url);
  const objection = address === undefined ? undefined : object(address, rule);
  if (objection !== undefined) return refuse(`${address} is ${objection}. ${fixes[rule]}`);

  const [, host] = /^(.+?)(?::[1-9]\d*)?$/.exec(authority) ?? [];
  if (host?.toLowerCase() !== url.hostname) {
    return refuse(`The URL's host and port are not in canonical form. Write ${url.host} instead.`);
  }
  if (host.endsWith(".")) {
    return refuse("The URL's host ends with a dot. Remove the dot.");
  }
  if (rule === "strict" && isLocalhost(url.hostname)) {
    return refuse(`${url.hostname} refers to this machine. ${fixes.strict}`);
  }
  return { url };
}

/** Parses a URL. Returns undefined for any other text. */
function parse(text: string): URL | undefined {
  try {
    // `URL.canParse` would not do: in Node 20 and 22, it may return false for hosts such as `bücher.localhost`.
    return new URL(text);
  } catch {
    return undefined;
  }
}

/**
 * Resolves the host of a URL that {@link checkUrl} accepted, and checks every address. The URL is rejected if the rule
 * does not allow one of the addresses, or if one is the sandbox itself. A literal address is not looked up. `localhost`
 * and its subdomains are 127.0.0.1 and `::1`.
 *
 * @param isOwn whether the sandbox listens on this address (in its shortest form) and port
 * @returns the addresses in the order of the resolver, or sentences that state why the URL is refused, or that the name
 *   has no address. Rejects only if `isOwn` throws.
 */
export async function allowedAddresses(
  url: URL,
  rule: UrlRule,
  lookup: Lookup,
  isOwn: (address: string, port: number) => boolean,
): Promise<
  | { readonly addresses: readonly Address[] }
  | { readonly refused: string }
  | { readonly unresolved: string }
> {
  const written = literal(url);
  const addresses = await addressesOf(url.hostname, written, lookup);
  if (addresses.length === 0) {
    return {
      unresolved:
        rule === "loopback"
          ? `The host name ${url.hostname} does not resolve to an address. ${fixes.loopback}`
          : `The host name ${url.hostname} does not resolve to an address. Check its spelling.`,
    };
  }
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  for (const { address } of addresses) {
    const subject = address === written ? address : `${url.hostname} resolves to ${address}, which`;
    const objection = object(address, rule);
    if (objection !== undefined) return refuse(`${subject} is ${objection}. ${fixes[rule]}`);
    if (isOwn(ipaddr.parse(address).toString(), port)) {
      return refuse(
        `${url.host} is the sandbox itself. Use the address and port of your own receiver.`,
      );
    }
  }
  return { addresses };
}

async function addressesOf(
  hostname: string,
  written: string | undefined,
  lookup: Lookup,
): Promise<readonly Address[]> {
  if (written !== undefined) return [{ address: written, family: isIP(written) === 4 ? 4 : 6 }];
  if (isLocalhost(hostname)) return localhost;
  try {
    return await lookup(hostname);
  } catch {
    return [];
  }
}

/** Whether a name is loopback, whatever a resolver returns (RFC 6761, section 6.3). */
const isLocalhost = (hostname: string) => /(?:^|\.)localhost$/.test(hostname);

/** The addresses of localhost. A receiver may listen on one or both: Node prefers `::1`, others prefer 127.0.0.1. */
const localhost: readonly Address[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

const examples: Record<UrlRule, string> = {
  loopback: "http://localhost:3000/webhooks",
  private: "http://receiver:3000/webhooks",
  strict: "https://example.com/webhooks",
};

const fixes: Record<UrlRule, string> = {
  loopback: `Use a loopback address such as ${examples.loopback}, or set A-21=private to deliver to private addresses such as those of containers, or A-21=strict to deliver to public HTTPS URLs.`,
  private: "Use a private or loopback address, or set A-21=strict to deliver to public HTTPS URLs.",
  strict: "Use a public HTTPS URL, or set A-21=loopback to deliver to this machine.",
};

/** Descriptions of the address classes of `ipaddr.js` and {@link addressClass}. */
const words: Record<string, string> = {
  loopback: "a loopback address",
  public: "a public address",
  zoned: "an address with a zone",
  invalid: "not an IP address",
  private: "a private address",
  uniqueLocal: "a private address",
  metadata: "the address of a cloud's metadata service",
  linkLocal: "a link-local address",
  deprecatedSiteLocal: "a site-local address",
  carrierGradeNat: "a carrier-grade NAT address",
  unspecified: "an unspecified address",
  broadcast: "a broadcast address",
  multicast: "a multicast address",
  ipv4Mapped: "an IPv4-mapped address",
  ipv4Compatible: "an IPv4-compatible address",
  rfc6052: "a NAT64 address",
  "6to4": "a 6to4 address",
  teredo: "a Teredo address",
};

const allowedClasses: Record<UrlRule, readonly string[]> = {
  loopback: ["loopback"],
  private: ["loopback", "private", "uniqueLocal"],
  strict: ["public"],
};

/**
 * Returns the reason why the rule does not allow the address, as the words after `is`, such as `a private address`.
 * Returns undefined if the rule allows it.
 */
function object(address: string, rule: UrlRule): string | undefined {
  const kind = addressClass(address);
  if (allowedClasses[rule].includes(kind)) return undefined;
  return words[kind] ?? "a reserved address";
}

/** The private addresses at which clouds serve the credentials of a machine or a container over IPv6. */
const metadata = [
  "fd00:ec2::/32",
  "fd20:ce::254/128",
  "fd00:c1::a9fe:a9fe/128",
  "fd00:42::42/128",
].map((range) => ipaddr.IPv6.parseCIDR(range));

function addressClass(address: string): string {
  if (address.includes("%")) return "zoned";
  // `isIP` rejects octal, hexadecimal and short forms, which `ipaddr.js` alone would accept.
  if (isIP(address) === 0 || !ipaddr.isValid(address)) return "invalid";
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  if (parsed instanceof ipaddr.IPv6 && metadata.some((subnet) => parsed.match(subnet)))
    return "metadata";
  if (range !== "unicast") return range;
  if (parsed instanceof ipaddr.IPv6) {
    // All public IPv6 addresses are in 2000::/3 (IANA, IPv6 Address Space). The range is checked here, because
    // `ipaddr.js` calls every unknown range unicast.
    const [first = 0] = parsed.parts;
    if (first >> 13 !== 1) {
      return parsed.parts.slice(0, 6).every((part) => part === 0) ? "ipv4Compatible" : "reserved";
    }
  }
  return "public";
}

/** Returns the host as an address without brackets, or undefined if it is a name. */
export function literal({ hostname }: URL): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, "$1");
  return isIP(bare) === 0 ? undefined : bare;
}

const refuse = (refused: string) => ({ refused });
