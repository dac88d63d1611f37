import type { StandardSchemaV1 } from "./standard-schema.js";

/** An event when no `events` are given: the signed JSON object, with its type. */
export interface AnyEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/**
 * Stands for every type that `events` does not list. Not `string`: a union with that would no longer
 * narrow by `event.type === "email.sent"`. For a text of it, write `String(event.type)`.
 */
export declare enum UnlistedType {
  any = "(unlisted)",
}

/** An event whose type `events` does not list. Nothing has checked its fields. */
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

/** What may stand in `on`: any text without `events`, else their types, prefixes of these, and `"*"`. */
export type HandlerKey<Events> = [TypeOf<Events>] extends [never]
  ? string
  : TypeOf<Events> | `${Prefixes<TypeOf<Events>>}.*` | "*";

type Covered<Type extends string, Key extends string> = Key extends "*"
  ? Type
  : Key extends `${infer Prefix}.*`
    ? Extract<Type, `${Prefix}.${string}`>
    : Extract<Type, Key>;

/** The keys that are asked before a pattern. */
type Before<Key extends string, Keys extends string> = Key extends "*"
  ? Exclude<Keys, "*">
  : Key extends `${infer Prefix}.*`
    ? Exclude<Extract<Keys, `${Prefix}.${string}`>, Key>
    : never;

type Left<Type extends string, Key extends string, Keys extends string> = Exclude<
  Covered<Type, Key>,
  Covered<Type, Before<Key, Keys>>
>;

/** What the handler under `Key` gets when the handlers `Keys` are registered. */
export type EventFor<Events, Key extends string, Keys extends string = Key> = [
  TypeOf<Events>,
] extends [never]
  ? AnyEvent
  : Key extends TypeOf<Events>
    ? OutputOf<Events[Key]>
    : | { [Type in Left<TypeOf<Events>, Key, Keys>]: OutputOf<Events[Type]> }[Left<
          TypeOf<Events>,
          Key,
          Keys
        >]
      | UnknownEvent;

/** Whether an event is of a type, narrowing unions with {@link UnknownEvent}. */
export function isEvent<Event extends { readonly type: unknown }, Type extends Event["type"]>(
  event: Event,
  type: Type & string,
): event is Extract<Event, { readonly type: Type }> {
  return event.type === type;
}
