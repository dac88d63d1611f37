import { createHash } from "node:crypto";
import { headerNames } from "@svc-webhooks/core/adapter";
import { service, type Sender } from "@svc-webhooks/schemes/senders";
import { tamper, type SignedDelivery } from "@svc-webhooks/testing";
import {
  receiverForgeries,
  withSignature,
  type Change,
  type Sending,
} from "@svc-webhooks/testing/forgeries";
import { isStaleAt } from "../schemes/stale.js";
import type { FindingId } from "./findings.js";

/**
 * A change after which a genuine delivery must be rejected, with the name of the changed delivery and the id of the
 * finding if it is accepted.
 */
type Forgery = readonly [id: FindingId, name: string, change: Change];

/** The age of the signature of a replayed delivery, in milliseconds. Most schemes tolerate less. */
const staleMs = 2 * 3_600_000;

/**
 * Returns the forgeries that the receiver contract shares with `doctor`, and those that only `doctor` sends. The first
 * one has no signature: a receiver that accepts it accepts the others for the same reason.
 *
 * @param another the body of another valid event
 */
export function forgeriesFor(sender: Sender, another: Uint8Array): readonly Forgery[] {
  const isService = sender === service;
  const shared = receiverForgeries(isService ? undefined : sender);
  const isUnsigned = ([id]: Forgery) => id === "unsigned_accepted";
  return [
    ...shared.filter(isUnsigned),
    ...(isService ? kindsOfService : []),
    ...kinds,
    ...shared.filter((forgery) => !isUnsigned(forgery)),
    ["altered_body_accepted", "the signature of another body", () => ({ body: another })],
    ["wrong_secret_accepted", "an empty signature", withSignature(() => "")],
    ...(!isService && sender.form.encoding === "hex" && sender.key !== "public" ? [plainHash] : []),
    ["stale_accepted", "a delivery that was signed two hours ago", stale(sender)],
  ];
}

/** Replaces the first 64 hex digits of the signature with the SHA-256 of the body, which needs no key. */
const plainHash: Forgery = [
  "plain_hash_accepted",
  "the SHA-256 of the body",
  withSignature((genuine, { body }) =>
    genuine.replace(/[\da-f]{64}/, createHash("sha256").update(body).digest("hex")),
  ),
];

/** Dates the signature back by two hours. Skipped if the sender signs no time, or if its scheme tolerates that age. */
const stale =
  ({ isTimed, scheme }: Sender): Change =>
  async (delivery) => {
    if (!isTimed) return undefined;
    const old = await tamper.stale(delivery, staleMs);
    return (await isStaleAt(scheme, old.headers, old.body, Date.now())) ? old : undefined;
  };

/** Returns the forgery that removes the signature and applies a change for which a receiver may skip verification. */
const unsigned = (what: string, change: (delivery: SignedDelivery) => Sending): Forgery => [
  "some_unsigned_accepted",
  `${what} without a signature`,
  (delivery) => {
    const bare = tamper.missingHeader(delivery);
    return { ...bare, ...change(bare) };
  },
];

const withHeader =
  (name: string, value: string | undefined) =>
  ({ headers }: SignedDelivery): Sending => ({ headers: { ...headers, [name]: value } });

const kinds: readonly Forgery[] = [
  ...(
    [
      ["a form", "application/x-www-form-urlencoded"],
      ["text", "text/plain"],
      ["a form with files", "multipart/form-data; boundary=x"],
      ["bytes", "application/octet-stream"],
      ["XML", "application/xml"],
      ["a body of no type", undefined],
    ] as const
  ).map(([what, type]) => unsigned(what, withHeader("content-type", type))),
  unsigned("a delivery from a proxy", withHeader("x-forwarded-for", "127.0.0.1")),
  unsigned("a delivery with an API key", withHeader("authorization", "Bearer svc_test")),
  ...["PUT", "PATCH", "DELETE"].map((method) =>
    unsigned(`a ${method} request`, () => ({ method })),
  ),
  ...["ping", "test"].map((type) =>
    unsigned(`a ${type} event`, ({ body }) => ({ body: withType(body, type) })),
  ),
  unsigned("an empty body", () => ({ body: new Uint8Array() })),
];

/** Unsigned deliveries that lack a header of the service, or that have another attempt number. */
const kindsOfService: readonly Forgery[] = [
  ...["2", "9"].map((attempt) =>
    unsigned(`attempt ${attempt}`, withHeader(headerNames.attempt, attempt)),
  ),
  ...[headerNames.deliveryId, headerNames.eventId, headerNames.attempt].map((header) =>
    unsigned(`a delivery without ${header} and`, withHeader(header, undefined)),
  ),
];

/** Replaces the first string in a field `type` of a JSON body. A body without such a field stays the same. */
const withType = (body: Uint8Array, type: string): Uint8Array =>
  Buffer.from(
    Buffer.from(body)
      .toString()
      .replace(/(?<="type":")[^"]*/, type),
  );
