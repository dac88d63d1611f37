import type { HeaderLookup, SignedBody } from "./delivery.js";
import type { SchemasOf } from "./events.js";
import type { Answer } from "./outcome.js";
import type { SecretKey } from "./secrets.js";
import type { MaybePromise } from "./store.js";

/**
 * Describes how a sender signs its deliveries, and where they carry their ids and types. A scheme consists of data and
 * pure functions, which are called without `this`: it reads no clock, keeps no state and opens no connection. Records,
 * handlers and outcomes are the same for every scheme.
 *
 * `Claim` is a type of the scheme's own, for the parts of the headers that it needs later, such as the signatures:
 * `inspect` returns a claim, and `verify` and `identify` receive it. It is unrelated to the claim of a record in the
 * store.
 */
// `any` lets `createReceiver` accept every scheme. It is safe, because only the scheme itself reads its claim.
// oxlint-disable-next-line typescript/no-explicit-any
export interface Scheme<Claim = any> {
  /** The sender's name in texts and for the command line, such as `"stripe"`. */
  readonly name: string;

  /**
   * The lower-case names of the headers that a stored delivery keeps. The first is the header with the signature,
   * which log lines name.
   */
  readonly headers: readonly string[];

  /** The form of the header with the signature, for log lines, such as `"sha256=<64 hex digits>"`. */
  readonly form: string;

  /**
   * A risk of this sender that the application must know about. Logged once by each receiver, when the receiver is
   * built.
   */
  readonly notice?: string | undefined;

  /**
   * The default of the option `handlerTimeoutMs`, in milliseconds. A value above `leaseMs` − 5,000 is reduced to that
   * limit. Default 10,000.
   */
  readonly handlerTimeoutMs?: number | undefined;

  /**
   * Returns the claim of the headers, or their problem. Runs before the body is read, so that no memory is spent on the
   * body of a request that is refused here.
   *
   * @param receivedAt epoch milliseconds, from the receiver's clock
   */
  readonly inspect: (header: HeaderLookup, receivedAt: number) => Inspection<Claim>;

  /**
   * Responds to a GET request with which the sender verifies the endpoint. Default: a GET request ends as
   * `method_not_allowed`.
   *
   * @param url the `url` of the delivery: a path with its query, or a whole URL
   */
  readonly challenge?:
    ((url: string | undefined, header: HeaderLookup) => Unsigned | undefined) | undefined;

  /** Recognizes an unsigned POST request that only sets up the endpoint. Default: it ends as `signature_missing`. */
  readonly greeting?: Greeting | undefined;

  /**
   * Returns the bytes of a key. Called when the receiver is built, unless `secret` is a function, and when the list of
   * secrets or the function's result has changed. A result that is empty or all zeros is refused. Default: returns
   * bytes as they are, and a text as UTF-8.
   *
   * @param option the name of the option in errors, such as `"secret[1]"`
   * @throws ConfigError `invalid_secret`, whose text must not contain the key
   */
  readonly keyBytes?: ((secret: SecretKey, option: string) => Uint8Array) | undefined;

  /**
   * Imports a key. The receiver reuses the result, but deliveries that arrive at the same time may each import the key.
   *
   * @param hmac imports a key for HMAC-SHA256, synchronously on Node
   */
  readonly importKey: (key: Uint8Array, hmac: ImportHmac) => MaybePromise<VerificationKey<Claim>>;

  /**
   * Returns the delivery's id, and every part of the delivery or its response that differs from the default. Called
   * after the signature has been verified, and again when a stored delivery is resumed.
   */
  readonly identify: (request: VerifiedRequest<Claim>) => MaybePromise<Identified>;

  /**
   * The default of the option `eventType`. Default: that of receivers without a scheme. If `forget` or `peek` receives
   * no headers, `header` returns `""`.
   */
  readonly eventType?:
    ((body: SignedBody, bytes: Uint8Array, header: HeaderLookup) => string | undefined) | undefined;

  /** The default of the option `eventId`. Default: none. */
  readonly eventId?: ((body: SignedBody, bytes: Uint8Array) => string | undefined) | undefined;
}

/**
 * A scheme that also types the events of handlers with a union of events. It validates nothing. Without a union, it is
 * only a scheme.
 */
export type SchemeFor<Event extends { readonly type: string }, Claim = unknown> = [Event] extends [
  never,
]
  ? Scheme<Claim>
  : Scheme<Claim> & { readonly events?: SchemasOf<Event> };

/** Recognizes the unsigned request with which a sender sets up an endpoint. */
export interface Greeting {
  /**
   * The largest `Content-Length`, 1 … 1,024. Requests with a longer body, without `Content-Length`, or with a signature
   * are refused before their body is read.
   */
  readonly maxBytes: number;
  /**
   * Returns the response to a body. Undefined if it is not that of the sender's request.
   *
   * @param keys the keys of the receiver, as `keyBytes` returned them. Empty if `secret` is a function that has not been
   *   called yet
   */
  readonly respond: (
    bytes: Uint8Array,
    keys: readonly { readonly bytes: Uint8Array }[],
  ) => Unsigned | undefined;
}

/** The result for a request without a signature. No handler runs, and nothing is stored. */
export interface Unsigned {
  /** The code of the outcome: `handshake` for a request that the sender sends. */
  readonly code: "handshake" | "method_not_allowed" | "signature_missing";
  /** Replaces parts of the response, if its status is 200. */
  readonly reply?: Partial<Answer> | undefined;
  /** The description for the log. With `handshake`, each receiver logs only its first one. */
  readonly hint?: string | undefined;
}

/** The result of `inspect`. `hint` describes the problem for the log. It must not contain text of the request. */
export interface Inspection<Claim> {
  readonly problem?: HeaderProblem | undefined;
  readonly hint?: string | undefined;
  /** The claim of the headers. Ignored if there is a problem. */
  readonly claim?: Claim;
}

/** The reason why headers are refused; also the outcome code of such a delivery. */
export type HeaderProblem = "signature_missing" | "signature_malformed" | "signature_stale";

/** Imports a key for HMAC-SHA256. */
export type ImportHmac = (key: Uint8Array) => MaybePromise<HmacKey>;

/** An imported key. Its bytes are not a property, so they cannot be inspected, printed or serialized. */
export interface HmacKey extends VerificationKey<string> {
  /** Returns the HMAC-SHA256 (RFC 2104, FIPS 180-4) of `message`: 64 lower-case hex digits. */
  sign(message: Uint8Array): MaybePromise<string>;
  /**
   * Returns whether `hex` is the HMAC of `message`, compared in constant time. Returns false if `hex` is not 64 hex
   * digits, in upper or lower case.
   */
  verify(message: Uint8Array, hex: string): MaybePromise<boolean>;
}

/** A key that verifies signatures. */
export interface VerificationKey<Claim> {
  /**
   * Returns whether this key made one of the claim's signatures of `body`. Compares all of them, so that timing does
   * not reveal which one matched.
   */
  verify(body: Uint8Array, claim: Claim): MaybePromise<boolean>;
}

/** A delivery whose signature is genuine. */
export interface VerifiedRequest<Claim> {
  /** The body, if it is a JSON object. */
  readonly body: SignedBody | undefined;
  readonly bytes: Uint8Array;
  readonly header: HeaderLookup;
  /** Undefined for a stored delivery, which was verified before it was stored. */
  readonly claim: Claim | undefined;
}

/** The result of `identify`: the delivery's id, and everything that differs from the default. */
export interface Identified {
  /**
   * Set to end the delivery. `handshake`: it only tests the endpoint. `signature_stale`: its signed time is too far
   * from the time at which it arrived.
   */
  readonly code?: "handshake" | "signature_stale" | undefined;
  /** Describes `code` for the log. With `handshake`, each receiver logs only the first description. */
  readonly hint?: string | undefined;
  /** The delivery id. Without one, the delivery ends as `delivery_id_missing`. */
  readonly deliveryId?: string | undefined;
  /** The origin of the event, if this receiver has not verified it. Default: absent. */
  readonly source?: string | undefined;
  /** The event, if it differs from the JSON object that the body contains. */
  readonly body?: SignedBody | undefined;
  /** Replaces parts of the response, if its status would be 200. */
  readonly reply?: Partial<Answer> | undefined;
}
