import { lookup } from "node:dns/promises";
import { WebhookError } from "@svc-webhooks/core";
import {
  hostOf,
  isLoopback,
  literalAddresses,
  portOf,
  targetAt,
  type Address,
  type Target,
} from "@svc-webhooks/cli/workbench";
import { Refusal } from "../refusal.js";

/*
 * The rules for the URL of a receiver. They are strict, because an attacker may have chosen the URL.
 *
 * - It is an `http` or `https` URL without a user name or a password.
 * - Its host is allowed: by default `localhost`, the names below it and loopback addresses, each at any port. With
 *   `--allow-host`, only the hosts that are listed. Other names are refused even if they resolve to loopback.
 * - A host that is listed without a port is allowed at ports 80 and 443 or, if all its addresses are loopback, at any.
 * - It does not lead to the port of the service or the sandbox, by any name or address. `0.0.0.0` and `::` count as
 *   this machine.
 *
 * Names are resolved once, when the server starts. Requests connect to the addresses found then. Redirects are not
 * followed.
 */

/** The hosts to which tools may send requests. */
export interface Hosts {
  /** A description of the allowed hosts. */
  readonly allowed: string;
  /**
   * Returns the target of an allowed URL.
   *
   * @throws Refusal `invalid_url`; `host_not_allowed` for another host or port; `service_address` for an address of
   *   the service or the sandbox
   */
  readonly target: (text: string) => Target;
}

interface Entry {
  readonly host: string;
  readonly port: number | undefined;
  readonly addresses: readonly Address[];
}

export type Resolve = (host: string) => Promise<readonly Address[]>;

const system: Resolve = (host) => lookup(host, { all: true, verbatim: true });

const longestUrl = 2_048;

/**
 * Resolves the addresses of the allowed hosts.
 *
 * @param reserved the URLs of the service or the sandbox, to which no tool may send deliveries
 * @throws WebhookError `wrong_usage` (as a rejection) for a host that is not valid or has no address
 */
export async function resolveHosts(
  names: readonly string[],
  reserved: readonly URL[],
  resolve: Resolve = system,
): Promise<Hosts> {
  const [entries, taken] = await Promise.all([
    Promise.all(names.map((text) => entryOf(text, resolve))),
    Promise.all(reserved.map((url) => reservedOf(url, resolve))),
  ]);
  const allowed =
    names.length === 0 ? "localhost and other loopback addresses" : `only ${names.join(", ")}`;
  return {
    allowed,
    target(text) {
      const url = parse(text);
      const host = hostOf(url);
      const addresses =
        entries.length === 0
          ? loopbackOf(host)
          : entries.find((entry) => matches(entry, url, host))?.addresses;
      if (!addresses) {
        throw new Refusal(
          "host_not_allowed",
          "This server may not send requests to the host or port of `url`.",
          `Use an allowed host: ${allowed}. Only the user can allow another host, by adding --allow-host to the command that starts this server.`,
        );
      }
      if (taken.some((own) => isSame(own, url, addresses))) {
        throw new Refusal(
          "service_address",
          "`url` is the address of the service, not of a receiver.",
          "Set `url` to the address of your receiver, such as http://localhost:3000/webhooks.",
        );
      }
      return targetAt(url, addresses);
    },
  };
}

const invalidUrl = (happened: string) =>
  new Refusal("invalid_url", happened, "Write `url` like http://localhost:3000/webhooks.");

function parse(text: string): URL {
  if (text.length > longestUrl || !URL.canParse(text))
    throw invalidUrl("`url` is not a valid URL.");
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol)) throw invalidUrl("`url` is not an http or https URL.");
  if (url.username !== "" || url.password !== "")
    throw invalidUrl("`url` contains a user name or a password.");
  return url;
}

/** Returns the addresses of `localhost`, a name below it or a loopback address, or undefined for any other host. */
function loopbackOf(host: string): readonly Address[] | undefined {
  const known = literalAddresses(host);
  return known?.every(isLoopback) ? known : undefined;
}

function matches({ host, port, addresses }: Entry, url: URL, wanted: string): boolean {
  if (host !== wanted) return false;
  if (port !== undefined) return port === portOf(url);
  return addresses.every(isLoopback) || [80, 443].includes(portOf(url));
}

/**
 * Resolves to the entry of a host to which no tool may send deliveries. The entry has no addresses if the name cannot
 * be resolved.
 */
async function reservedOf(url: URL, resolve: Resolve): Promise<Entry> {
  const host = hostOf(url);
  const addresses = await addressesOf(host, resolve).catch((): readonly Address[] => []);
  return { host, port: portOf(url), addresses };
}

function isSame(reserved: Entry, url: URL, addresses: readonly Address[]): boolean {
  if (reserved.port !== portOf(url)) return false;
  if (reserved.host === hostOf(url)) return true;
  if (reserved.addresses.some(isThisMachine) && addresses.some(isThisMachine)) return true;
  const texts = new Set(reserved.addresses.map(({ address }) => address));
  return addresses.some(({ address }) => texts.has(address));
}

/** Returns whether connections to an address arrive at this machine, as for loopback, `0.0.0.0` and `::`. */
const isThisMachine = (address: Address): boolean =>
  isLoopback(address) || address.address === "0.0.0.0" || address.address === "::";

async function entryOf(text: string, resolve: Resolve): Promise<Entry> {
  const whole = `http://${text}`;
  const [, port] = /:(\d{1,5})$/.exec(text.replace(/^\[[^\]]*\]/, "")) ?? [];
  const isHost = /^(?:\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.test(text) && URL.canParse(whole);
  if (!isHost) {
    throw new WebhookError(
      "wrong_usage",
      "--allow-host must be a host name or an address, with or without a port. Write it like localhost:3000.",
    );
  }
  const host = hostOf(new URL(whole));
  const addresses = await addressesOf(host, resolve);
  return { host, port: port === undefined ? undefined : Number(port), addresses };
}

async function addressesOf(host: string, resolve: Resolve): Promise<readonly Address[]> {
  const known = literalAddresses(host);
  if (known) return known;
  const addresses = await resolve(host).catch(() => []);
  if (addresses.length > 0) return addresses;
  throw new WebhookError(
    "wrong_usage",
    `--allow-host: the host name ${host} has no address. Check its spelling and your network connection.`,
  );
}
