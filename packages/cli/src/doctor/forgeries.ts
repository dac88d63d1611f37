import { publishedSecrets } from "@svc-webhooks/testing/conformance";
import type { FindingId } from "./findings.js";
import type { Probe } from "./probe.js";

/** A delivery that must be rejected, with the id of the finding if it is accepted. */
export type Forgery = readonly [id: FindingId, name: string, change: Partial<Omit<Probe, "name">>];

/** The parts of a request that a signature may cover besides the body. */
export type SignedFacts = Pick<Probe, "at" | "deliveryId">;

export const signed = (
  id: FindingId,
  name: string,
  signature: string,
  facts: SignedFacts = {},
): Forgery => [id, name, { signature, ...facts }];

export const unsigned = { signature: undefined } as const;

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
