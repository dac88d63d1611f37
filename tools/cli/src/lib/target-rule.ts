import { lookup as resolve } from "node:dns/promises";
import { isIP } from "node:net";
import { UsageError } from "../errors.js";
import { isLoopback, targetAt, type Address, type Target } from "./target.js";

/*
 * The rule for targets of the command line's requests:
 *
 * - The target is an `http` or `https` URL. One without a scheme is `http`.
 * - It has no user name and no password, because these would appear in logs and lists of processes.
 * - Its host has an address. `localhost` and the names below it are 127.0.0.1 and `::1`, whatever a resolver
 *   returns (RFC 6761, section 6.3).
 * - All its addresses are loopback, unless the command or `--allow-external` allows others.
 *
 * The requests of a `Target` connect only to the addresses that were checked.
 */

export const targetOptions = {
  "allow-external": { type: "boolean", text: "allow a target that is not a loopback address" },
} as const;

/** Returns the host name of a URL without the brackets of an IPv6 address, and without a dot at its end. */
export const hostOf = ({ hostname }: URL): string =>
  hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");

/** Returns the port of a URL, or the default port of its protocol. */
export const portOf = ({ port, protocol }: URL): number =>
  Number(port || (protocol === "https:" ? 443 : 80));

/**
 * Returns the addresses of a host that needs no lookup: an IP address, or `localhost` and the names below it. Returns
 * undefined for any other host.
 */
export function literalAddresses(host: string): readonly Address[] | undefined {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  if (!/(?:^|\.)localhost$/.test(host)) return undefined;
  return [
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ];
}

/**
 * Parses the URL of a target, looks up its addresses, and resolves to the target.
 *
 * @param allowExternal whether addresses other than loopback are allowed. Undefined: they are not, and the error does
 *   not suggest `--allow-external`, because the command does not have it
 * @throws UsageError (as a rejection) if the target breaks the rule above
 */
export async function resolveTarget(
  flag: string,
  text: string,
  allowExternal: boolean | undefined,
): Promise<Target> {
  const url = parse(flag, text);
  const addresses = await addressesOf(flag, url);
  const external = addresses.find((address) => !isLoopback(address));
  if (external && !allowExternal) {
    throw new UsageError(
      `${flag} resolves to ${external.address}, which is not a loopback address.`,
      allowExternal === undefined
        ? "Use a loopback address such as http://localhost:3000/webhooks."
        : "Use a loopback address such as http://localhost:3000/webhooks, or add --allow-external.",
    );
  }
  return targetAt(url, addresses);
}

function parse(flag: string, text: string): URL {
  // Rejects a port without a host, because a URL with the host `3000` would mean the address 0.0.11.184.
  const [, port] = /^(?:https?:\/\/)?:?(\d{1,5})(?:[/?#]|$)/i.exec(text) ?? [];
  const hint = `Write it like http://localhost:${port ?? 3000}/webhooks.`;
  if (port) throw new UsageError(`${flag} has a port, but no host.`, hint);
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (text === "" || !URL.canParse(whole)) {
    throw new UsageError(`${flag} is not a valid URL.`, hint);
  }
  const url = new URL(whole);
  if (!/^https?:$/.test(url.protocol)) {
    throw new UsageError(`${flag} is not an http or https URL.`, hint);
  }
  if (url.username !== "" || url.password !== "") {
    throw new UsageError(`${flag} contains a user name or a password.`, "Remove it.");
  }
  return url;
}

async function addressesOf(flag: string, url: URL): Promise<readonly Address[]> {
  const { hostname } = url;
  const known = literalAddresses(hostOf(url));
  if (known) return known;
  try {
    return await resolve(hostname, { all: true, verbatim: true });
  } catch {
    throw new UsageError(
      `${flag}: the host name ${hostname} has no address.`,
      "Check its spelling and your network connection.",
    );
  }
}
