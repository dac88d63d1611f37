import { lookup as resolve } from "node:dns/promises";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { BlockList, isIP, type LookupFunction, type Socket } from "node:net";
import { UsageError } from "../errors.js";

export type HeaderList = readonly (readonly [name: string, value: string])[];

export interface Outgoing {
  readonly method: string;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/** A URL whose addresses were checked. Requests go to these addresses, whatever the name resolves to later. */
export interface Target {
  readonly url: URL;
  /** Sends exactly these headers, `Host`, `Content-Length` and `Connection`. Does not follow redirects. */
  readonly send: (outgoing: Outgoing, signal: AbortSignal) => Promise<IncomingMessage>;
  /** Starts a request whose body of `length` bytes the caller writes. */
  readonly open: (
    outgoing: Omit<Outgoing, "body"> & { readonly length: number },
    signal: AbortSignal,
  ) => ClientRequest;
  /** Another path of the same host. */
  readonly at: (url: URL) => Target;
}

interface Address {
  readonly address: string;
  readonly family: number;
}

export const targetOptions = {
  "allow-external": { type: "boolean", text: "allow a target that is not on this machine" },
} as const;

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** By default Node leaves an address after 250 ms, which a busy machine may need for loopback. */
const connecting = { agent: false, autoSelectFamilyAttemptTimeout: 5_000 } as const;

const isLoopback = ({ address, family }: Address) =>
  loopback.check(address, family === 4 ? "ipv4" : "ipv6");

/**
 * Checks a target and resolves its name. A target without a scheme is `http`.
 *
 * @throws UsageError (as a rejection) unless it is an `http` or `https` URL without credentials, whose
 *   addresses are all loopback or `allowExternal` is set
 */
export async function resolveTarget(
  flag: string,
  text: string,
  allowExternal: boolean,
): Promise<Target> {
  const url = parse(flag, text);
  const addresses = await addressesOf(flag, url);
  const external = addresses.find((one) => !isLoopback(one));
  if (external && !allowExternal) {
    throw new UsageError(
      `${flag} leads to ${external.address}, which is not this machine.`,
      "Use a loopback address such as http://localhost:3000/webhooks, or add --allow-external.",
    );
  }
  return targetAt(url, pinned(addresses));
}

function targetAt(url: URL, lookup: LookupFunction): Target {
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  const open: Target["open"] = ({ method, headers, length }, signal) => {
    const all = [...headers, ["Host", url.host], ["Content-Length", String(length)]];
    const options = { method, headers: all.flat(), lookup, signal };
    return request(url, { ...options, ...connecting });
  };
  return {
    url,
    open,
    at: (other) => targetAt(other, lookup),
    send: ({ body, ...outgoing }, signal) =>
      new Promise((respond, reject) => {
        const sending = open({ ...outgoing, length: body.length }, signal);
        sending.once("response", respond);
        sending.on("error", reject);
        for (const event of ["upgrade", "connect"]) {
          sending.once(event, (_response, socket: Socket) => socket.destroy());
        }
        sending.once("close", () => reject(new Error("it closed the connection")));
        sending.end(body);
      }),
  };
}

function parse(flag: string, text: string): URL {
  const hint = "Write it like http://localhost:3000/webhooks.";
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

async function addressesOf(flag: string, { hostname }: URL): Promise<readonly Address[]> {
  const bare = hostname.replace(/^\[(.*)\]$/, "$1");
  const family = isIP(bare);
  if (family !== 0) return [{ address: bare, family }];
  // These names are loopback, whatever a resolver returns (RFC 6761, section 6.3).
  if (/(?:^|\.)localhost\.?$/.test(hostname)) {
    return [
      { address: "127.0.0.1", family: 4 },
      { address: "::1", family: 6 },
    ];
  }
  try {
    return await resolve(hostname, { all: true, verbatim: true });
  } catch {
    throw new UsageError(`${flag}: the name ${hostname} has no address.`, "Check its spelling.");
  }
}

/** A lookup that returns the checked addresses. */
const pinned =
  (addresses: readonly Address[]): LookupFunction =>
  (_hostname, { all }, callback) => {
    const [{ address, family } = { address: "", family: 0 }] = addresses;
    if (all === true) callback(null, [...addresses]);
    else callback(null, address, family);
  };
