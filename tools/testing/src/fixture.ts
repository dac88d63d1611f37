import { assertValid } from "@svc-webhooks/core/adapter";

/**
 * The body of a delivery in the form that the sandbox sends by default. The form is an assumption, because the
 * interface document does not specify a body.
 */
interface Envelope<Type extends string, Data> {
  readonly event_id: string;
  readonly type: Type;
  /** The time of creation, ISO 8601 in UTC. */
  readonly created_at: string;
  readonly data: Data;
}

interface EmailFixtureData {
  readonly email_id: string;
  readonly message_id: string;
  readonly send_id: string;
  readonly status: string;
  readonly subject: string;
  readonly from: string;
  readonly recipients: { readonly to: string[] };
  readonly message_class: string;
  readonly created_at: string;
}

interface DomainFixtureData {
  readonly domain_id: string;
  readonly domain_name: string;
  readonly status: string;
}

/** The events that `fixture` creates, by type. */
export interface Fixtures {
  readonly "email.sent": Envelope<"email.sent", EmailFixtureData>;
  readonly "email.delivered": Envelope<"email.delivered", EmailFixtureData>;
  readonly "domain.updated": Envelope<"domain.updated", DomainFixtureData>;
}

/**
 * Overrides for fields of `T` at any depth, and additional fields. A list replaces the entire list; undefined removes a
 * field.
 */
export type FixtureOverrides<T> = T extends readonly unknown[] | string
  ? T
  : { readonly [Name in keyof T]?: FixtureOverrides<T[Name]> | undefined } & Readonly<
      Record<string, unknown>
    >;

const createdAt = "2026-01-01T00:00:00.000Z";

const email = (status: string) => (n: number) => ({
  email_id: `msg_email_${n}`,
  message_id: `msg_message_${n}`,
  send_id: `send_${n}`,
  status,
  subject: "Your receipt",
  from: "shop@example.com",
  recipients: { to: ["customer@example.org"] },
  message_class: "transactional",
  created_at: createdAt,
});

const dataOf: { readonly [Type in keyof Fixtures]: (n: number) => Fixtures[Type]["data"] } = {
  "email.sent": email("sent"),
  "email.delivered": email("delivered"),
  "domain.updated": (n) => ({
    domain_id: `dom_${n}`,
    domain_name: "example.com",
    status: "verified",
  }),
};

/**
 * Creates a complete event of the given type: the body `{ event_id, type, created_at, data }` that the sandbox sends by
 * default. Equal calls return equal events: the ids end in `n`, and all times are 2026-01-01T00:00:00Z, the time at
 * which `fakeClock` starts. Events of different types have different `event_id`s; email events with the same `n` are
 * about the same email.
 *
 * @param overrides other values for fields at any depth, and more fields; undefined removes a field
 * @param n the number at the end of the ids, for events that must differ. Default 1.
 * @throws ConfigError `invalid_option` for a type that is not one of {@link Fixtures}
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { createReceiver } from "svc-webhooks";
 * import { fixture, signedDelivery } from "@svc-webhooks/testing";
 *
 * const receiver = createReceiver({ secret: "whsec_test", on: { "email.*": () => {} } });
 *
 * const event = fixture("email.sent", { data: { subject: "Welcome" } });
 * assert.equal(event.data.send_id, "send_1");
 * assert.equal((await receiver.receive(await signedDelivery(event))).code, "processed");
 * ```
 */
export function fixture<Type extends keyof Fixtures>(
  type: Type,
  overrides?: FixtureOverrides<Omit<Fixtures[Type], "type">> & { readonly type?: never },
  n = 1,
): Fixtures[Type] {
  const types = Object.keys(dataOf).join(", ");
  assertValid(
    Object.hasOwn(dataOf, type),
    "type",
    `\`type\` must be one of ${types}. For other types, pass an object to signedDelivery.`,
  );
  const event = {
    event_id: `evt_${type.replace(".", "_")}_${n}`,
    type,
    created_at: createdAt,
    data: dataOf[type](n),
  };
  // The type of `overrides` checks replaced fields, so the cast is wrong only if `overrides` removes a field.
  return merged(event, overrides ?? {}) as Fixtures[Type];
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function merged(base: unknown, overrides: unknown): unknown {
  if (!isRecord(base) || !isRecord(overrides)) return overrides;
  const changed = Object.entries(overrides).map(
    ([name, value]) => [name, merged(base[name], value)] as const,
  );
  const fields = Object.entries({ ...base, ...Object.fromEntries(changed) });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}
