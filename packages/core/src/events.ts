import type { StandardSchemaV1 } from "./standard-schema.js";

/** An event as handlers of a receiver without `events` receive it: the signed JSON object, with its type. */
export interface AnyEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The fields of an object, including those that its type does not name. */
export interface Fields {
  readonly [field: string]: unknown;
}

/**
 * An event with a type that `events` does not list. No part of it has been validated. A field that is optional in a
 * listed event has a compatible type here, so that code can read it from the union of that event and this type after
 * `event.type === "email.sent"`. A field of listed events that is optional in none of them is `never` here; read it
 * with {@link fields}.
 */
export type UnknownEvent<Listed = never> = Fields & { readonly type: string } & {
  readonly [Field in Exclude<FieldOf<Listed>, "type">]: Unvalidated<ValueOf<Listed, Field>>;
};

/** The names of an event's fields, except those that only an index signature allows. */
type FieldOf<Event> = Event extends unknown
  ? keyof { [Field in keyof Event as string extends Field ? never : Field]: unknown }
  : never;

type ValueOf<Event, Field> = Event extends unknown
  ? Field extends FieldOf<Event> & keyof Event
    ? Event[Field]
    : never
  : never;

type Unvalidated<Value> = [undefined] extends [Value]
  ? NonNullable<Value> extends object
    ? (AllOf<NonNullable<Value>> & Fields) | undefined
    : Value
  : never;

/** The intersection of the members of a union. */
type AllOf<Union> = (Union extends unknown ? (value: Union) => void : never) extends (
  value: infer All,
) => void
  ? All
  : never;

/** Schemas by event type. */
export type EventSchemas = Readonly<Record<string, StandardSchemaV1>>;

type TypeOf<Events> = keyof Events & string;

type OutputOf<Schema> = Schema extends {
  readonly "~standard": { readonly types?: { readonly output: infer Output } | undefined };
}
  ? Output
  : never;

type Prefixes<Type extends string> = Type extends `${infer Head}.${infer Rest}`
  ? Head | `${Head}.${Prefixes<Rest>}`
  : never;

/**
 * The keys that `on` accepts: any string if there is no `events`, otherwise the types in `events`, their prefix
 * patterns and `"*"`.
 */
export type HandlerKey<Events> = [TypeOf<Events>] extends [never]
  ? string
  : TypeOf<Events> | `${Prefixes<TypeOf<Events>>}.*` | "*";

type Covered<Type extends string, Key extends string> = Key extends "*"
  ? Type
  : Key extends `${infer Prefix}.*`
    ? Extract<Type, `${Prefix}.${string}`>
    : Extract<Type, Key>;

/** The keys that take precedence over a pattern. */
type MoreSpecific<Key extends string, Keys extends string> = Key extends "*"
  ? Exclude<Keys, "*">
  : Key extends `${infer Prefix}.*`
    ? Exclude<Extract<Keys, `${Prefix}.${string}`>, Key>
    : never;

type Remaining<Type extends string, Key extends string, Keys extends string> = Exclude<
  Covered<Type, Key>,
  Covered<Type, MoreSpecific<Key, Keys>>
>;

/** The event that the handler of `Key` receives when `on` has the keys `Keys`. */
export type EventFor<Events, Key extends string, Keys extends string = Key> = [
  TypeOf<Events>,
] extends [never]
  ? AnyEvent
  : Key extends TypeOf<Events>
    ? OutputOf<Events[Key]>
    : OutputOf<Events[Remaining<TypeOf<Events>, Key, Keys>]> | UnknownEvent<ListedIn<Events>>;

/** The union of the events that `events` lists. */
export type ListedIn<Events> = OutputOf<Events[TypeOf<Events>]>;

/**
 * Returns whether an event has the given `type`, and narrows the event's TypeScript type, even if that is a union with
 * {@link UnknownEvent}.
 *
 * @example
 * ```ts
 * import { createReceiver, isEvent } from "svc-webhooks";
 * import { emailEvents } from "svc-webhooks/events";
 *
 * export const receiver = createReceiver({
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   events: emailEvents,
 *   on: {
 *     "*": (event) => {
 *       if (isEvent(event, "domain.updated")) console.log(event.data?.domain_name);
 *       else console.log(String(event.type));
 *     },
 *   },
 * });
 * ```
 */
export function isEvent<Event extends { readonly type: unknown }, Type extends Event["type"]>(
  event: Event,
  type: Type & string,
): event is OfType<Event, Type> {
  return event.type === type;
}

type OfType<Event, Type> = [Extract<Event, { readonly type: Type }>] extends [never]
  ? Event & { readonly type: Type }
  : Extract<Event, { readonly type: Type }>;

/**
 * Returns `object` with all fields typed as unknown, so that you can read fields that its type does not name, which a
 * schema may let through. Returns an empty object for undefined and null.
 *
 * @example
 * ```ts
 * import { createReceiver, fields } from "svc-webhooks";
 * import { emailEvents } from "svc-webhooks/events";
 *
 * export const receiver = createReceiver({
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   events: emailEvents,
 *   on: { "email.delivered": (event) => console.log(fields(event.data)["campaign"]) },
 * });
 * ```
 */
export const fields = (object: object | null | undefined): Fields => (object ?? {}) as Fields;

/**
 * Returns a schema that validates nothing, to give an event a TypeScript type without a validator.
 *
 * @example
 * ```ts
 * import { createReceiver, eventType } from "svc-webhooks";
 *
 * interface Bounced {
 *   readonly type: "email.bounced";
 *   readonly data: { readonly reason: string };
 * }
 *
 * export const receiver = createReceiver({
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   events: { "email.bounced": eventType<Bounced>() },
 *   on: { "email.bounced": ({ data }) => console.log(data.reason) },
 * });
 * ```
 */
export const eventType = <Event extends { readonly type: string }>(): StandardSchemaV1<Event> => ({
  "~standard": {
    version: 1,
    vendor: "svc-webhooks",
    validate: (value) => ({ value: value as Event }),
  },
});

/** The schemas of a union of events, by event type. */
export type SchemasOf<Union extends { readonly type: string }> = {
  readonly [Event in Union as Event["type"]]: StandardSchemaV1<Event>;
};

/**
 * Returns a value for the option `events`, so that handlers are typed with a union of events, such as the union that
 * the sender's own package exports. It validates nothing: at run time, it is an empty object.
 *
 * @example
 * ```ts
 * import { createReceiver, eventTypes } from "svc-webhooks";
 *
 * type BillingEvent =
 *   | { readonly type: "invoice.paid"; readonly amount: number }
 *   | { readonly type: "customer.deleted"; readonly customer: string };
 *
 * export const receiver = createReceiver({
 *   secret: process.env.SVC_WEBHOOK_SECRET ?? "",
 *   events: eventTypes<BillingEvent>(),
 *   on: { "invoice.paid": ({ amount }) => console.log(amount) },
 * });
 * ```
 */
export const eventTypes = <Union extends { readonly type: string }>(): SchemasOf<Union> =>
  ({}) as SchemasOf<Union>;
