import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { BlockList, type LookupFunction, type Socket } from "node:net";
import { explainConnection } from "./tls.js";

export type HeaderList = readonly (readonly [name: string, value: string])[];

export interface Outgoing {
  readonly method: string;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/** A URL whose addresses have been checked. Requests go to these addresses, whatever the name resolves to later. */
export interface Target {
  readonly url: URL;
  readonly addresses: readonly Address[];
  /** Whether all addresses are loopback. */
  readonly isHere: boolean;
  /** The DNS lookup function that returns the checked addresses. */
  readonly lookup: LookupFunction;
  /**
   * Sends a request with the given headers, `Host`, `Content-Length` and `Connection`, but no others. Does not follow
   * redirects. Resolves when the headers of the response have arrived.
   */
  readonly send: (outgoing: Outgoing, signal: AbortSignal) => Promise<IncomingMessage>;
  /** Starts a request. The caller writes its body of `length` bytes. */
  readonly open: (
    outgoing: Omit<Outgoing, "body"> & { readonly length: number },
    signal: AbortSignal,
  ) => ClientRequest;
  /** Returns the target for another URL on the same host. */
  readonly at: (url: URL) => Target;
}

export interface Address {
  readonly address: string;
  readonly family: number;
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Returns whether an address is that of this machine's loopback interface. */
export const isLoopback = ({ address, family }: Address): boolean =>
  loopback.check(address, family === 4 ? "ipv4" : "ipv6");

/**
 * The connection options. Node tries the next address after 5 s instead of 250 ms, because a busy machine may need
 * longer than 250 ms to connect, even to loopback.
 */
const connecting = { agent: false, autoSelectFamilyAttemptTimeout: 5_000 } as const;

/**
 * Creates the target for a URL.
 *
 * @param addresses the checked addresses of the URL's host
 */
export const targetAt = (url: URL, addresses: readonly Address[]): Target =>
  through({ url, addresses, isHere: addresses.every(isLoopback) }, pinned(addresses));

function through(
  checked: Pick<Target, "url" | "addresses" | "isHere">,
  lookup: LookupFunction,
): Target {
  const { url } = checked;
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  const open: Target["open"] = ({ method, headers, length }, signal) => {
    const all = [...headers, ["Host", url.host], ["Content-Length", String(length)]];
    const options = { method, headers: all.flat(), lookup, signal };
    return request(url, { ...options, ...connecting }).once("socket", readAfterFailedWrite);
  };
  return {
    ...checked,
    lookup,
    open,
    at: (other) => through({ ...checked, url: other }, lookup),
    send: ({ body, ...outgoing }, signal) =>
      new Promise((respond, reject) => {
        const sending = open({ ...outgoing, length: body.length }, signal);
        let isFailed = false;
        sending.once("response", respond);
        sending.on("error", async (error) => {
          isFailed = true;
          reject(await explainConnection(error, url));
        });
        for (const event of ["upgrade", "connect"]) {
          sending.once(event, (_response, socket: Socket) => socket.destroy());
        }
        // After an error, the promise rejects with the explained error instead, which may not be available yet.
        sending.once("close", () => {
          if (!isFailed) reject(new Error("it closed the connection"));
        });
        sending.end(body);
      }),
  };
}

/**
 * Delays the error of a failed write until the data that has arrived is read. Otherwise, Node would discard the
 * response of a receiver that responds and closes the connection before it has read the body.
 */
function readAfterFailedWrite(socket: Socket): void {
  const write = socket["_write"].bind(socket);
  const writev = socket["_writev"]?.bind(socket);
  Object.assign(socket, {
    _write: ((chunk, encoding, done) =>
      write(chunk, encoding, afterReading(done))) satisfies Socket["_write"],
    _writev:
      writev &&
      (((chunks, done) => writev(chunks, afterReading(done))) satisfies Socket["_writev"]),
  });
}

type Done = (error?: Error | null) => void;

const afterReading =
  (done: Done): Done =>
  (error) => {
    // Between the two callbacks, Node polls the sockets and reads the data that has arrived.
    if (error) setImmediate(() => setImmediate(() => done(error)));
    else done();
  };

/** Returns a DNS lookup function that returns the checked addresses, whatever the host name. */
const pinned =
  (addresses: readonly Address[]): LookupFunction =>
  (_hostname, { all }, callback) => {
    const [{ address, family } = { address: "", family: 0 }] = addresses;
    if (all === true) callback(null, [...addresses]);
    else callback(null, address, family);
  };
