import { gzipSync } from "node:zlib";
import { publishedSecrets } from "@svc-webhooks/testing/conformance";
import type { Bodies } from "./bodies.js";
import type { FindingId } from "./findings.js";
import type { Guess, Mistaken } from "./guesses.js";
import type { HeadersOf, Probe } from "./probe.js";

/** A delivery that must be rejected, with the id of the finding if it is accepted. */
export type Forgery = readonly [id: FindingId, name: string, change: Partial<Omit<Probe, "name">>];

/** How the deliveries of one sender are signed and forged. */
export interface Signing {
  readonly headersOf: HeadersOf;
  /** Returns the genuine signature of a body. */
  readonly genuine: (body: Uint8Array) => Promise<string>;
  /** Signs a body with a random key, or spoils its signature. */
  readonly forgery: (body: Uint8Array) => Promise<Pick<Probe, "body" | "signature"> & SignedFacts>;
  readonly forgeriesOf: (body: Uint8Array, bodies: Bodies) => Promise<readonly Forgery[]>;
  /** Returns a compressed body with the genuine signature of its text, which must be rejected. */
  readonly compressed: (body: Uint8Array) => Promise<Probe>;
  /** Returns the signatures that mistaken receivers compute for a body. */
  readonly guessesOf: (
    body: Uint8Array,
  ) => Promise<{ readonly keys: readonly Guess[]; readonly bodies: readonly Guess[] }>;
  /** Names the mistake that makes this signature. */
  readonly explain: (body: Uint8Array, signature: string) => Promise<Mistaken | undefined>;
  /** The probes that this sender does not have, and why. */
  readonly skipped: readonly string[];
}

/** The parts of a request that a signature may cover besides the body. */
export type SignedFacts = Pick<Probe, "at" | "deliveryId">;

export const signed = (
  id: FindingId,
  name: string,
  signature: string,
  facts: SignedFacts = {},
): Forgery => [id, name, { signature, ...facts }];

export const unsigned = { signature: undefined } as const;

export const otherDigit = (digit: string): string => (digit === "0" ? "1" : "0");

const someUnsigned = (what: string, change: Forgery[2]): Forgery => [
  "some_unsigned_accepted",
  `${what} without a signature`,
  { ...unsigned, ...change },
];

/**
 * Returns the deliveries without a signature that a receiver could let through because of their type, of a header, or
 * without a body.
 *
 * @param required the headers of a genuine delivery that a receiver could require before it verifies one
 */
export const unsignedKinds = (
  body: Uint8Array,
  required: readonly string[] = [],
): readonly Forgery[] => [
  ...(
    [
      ["a form", "application/x-www-form-urlencoded"],
      ["text", "text/plain"],
      ["a form with files", "multipart/form-data; boundary=x"],
      ["bytes", "application/octet-stream"],
      ["XML", "application/xml"],
      ["a body of no type", undefined],
    ] as const
  ).map(([what, type]) => someUnsigned(what, { headers: { "content-type": type } })),
  someUnsigned("a delivery from a proxy", { headers: { "x-forwarded-for": "127.0.0.1" } }),
  ...required.map((header) =>
    someUnsigned(`a delivery without ${header} and`, { headers: { [header]: undefined } }),
  ),
  ...["PUT", "PATCH", "DELETE"].map((method) => someUnsigned(`a ${method} request`, { method })),
  ...["ping", "test"].map((type) =>
    someUnsigned(`a ${type} event`, { body: withType(body, type) }),
  ),
  someUnsigned("an empty body", { body: new Uint8Array() }),
];

/** Replaces the type of an event, if its sender sends one in the body. */
const withType = (body: Uint8Array, type: string): Uint8Array =>
  Buffer.from(
    Buffer.from(body)
      .toString()
      .replace(/(?<="type":")[^"]*/, type),
  );

/** Returns the texts of missing secrets, and the secrets of examples, placeholders and libraries. */
export const knownSecrets = (secret: string): readonly string[] =>
  publishedSecrets.filter((key) => key !== secret);

/** Returns a compressed body with the genuine signature of its text. */
export const compressed = <Genuine extends Pick<Probe, "signature"> & SignedFacts>(
  body: Uint8Array,
  genuine: Genuine,
) => ({
  name: "a compressed body with the signature of its text",
  ...genuine,
  body: gzipSync(body),
  headers: { "content-encoding": "gzip" },
});
