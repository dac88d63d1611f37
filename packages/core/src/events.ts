import type { StandardSchemaV1 } from "./standard-schema.js";

/** An event of a receiver without `events`: the signed JSON object, with its type. */
export interface AnyEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/**
 * Represents every type that `events` does not list. It is not `string`, because a union that contains
 * `string` does not narrow by `event.type === "email.sent"`. Use `String(event.type)` for its text.
 */
export declare enum UnlistedType {
  any = "(unlisted)",
}

/** An event whose type `events` does not list. Its fields have not been validated. */
export interface UnknownEvent {
  readonly type: UnlistedType;
  readonly [field: string]: unknown;
}

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
 * The keys that `on` accepts: any string without `events`, otherwise its types, their prefix
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
    : | { [Type in Remaining<TypeOf<Events>, Key, Keys>]: OutputOf<Events[Type]> }[Remaining<
          TypeOf<Events>,
          Key,
          Keys
        >]
      | UnknownEvent;

/**
 * Returns whether an event has a type. Also narrows unions with {@link UnknownEvent}.
 *
 * @example
 * ```ts
 * import { createReceiver, isEvent } from "@svc-webhooks/core";
 * import { emailEvents } from "@svc-webhooks/events";
 *
 * export const receiver = createReceiver({
 *   secret: "whsec_…",
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
): event is Extract<Event, { readonly type: Type }> {
  return event.type === type;
}
