import type {
  Client,
  KeyedRequestOptions,
  List,
  MaskedSecret,
  RotateOptions,
} from "@svc-webhooks/client";

/*
 * The differences between the client's types and those of a document, as a union of sentences: never, if they
 * agree. `document-types.ts` writes the types of a document.
 */

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type KeysOf<T> = T extends unknown ? Extract<keyof T, string> : never;
type Value<T, K> = T extends unknown ? (K extends keyof T ? T[K] : undefined) : never;
type IsOptional<T, K> = true extends (
  T extends unknown
    ? K extends keyof T
      ? object extends Pick<T, K>
        ? true
        : false
      : true
    : never
)
  ? true
  : false;

/** The listed values of an open union. */
type Known<T> = T extends string ? (string extends T ? never : T) : T;

type Differences<Mine, Theirs, At extends string> = [Mine] extends [MaskedSecret]
  ? Differences<string, Theirs, At>
  : [Theirs] extends [readonly (infer Item)[]]
    ? [Mine] extends [readonly (infer MyItem)[]]
      ? Differences<MyItem, Item, `${At}[]`>
      : `${At} is an array in the document only`
    : [Theirs] extends [object]
      ? Members<Mine, Theirs, At> | Alternatives<Mine, Theirs, At>
      : // A document that lists no values has a string where the client lists those that are known.
        Same<string extends Theirs ? Mine : Known<Mine>, Theirs> extends true
        ? never
        : `${At} has another type in the document`;

type Members<Mine, Theirs, At extends string> =
  | `${At}.${Exclude<KeysOf<Mine>, KeysOf<Theirs>>} is not in the document`
  | `${At}.${Exclude<KeysOf<Theirs>, KeysOf<Mine>>} is in the document only`
  | {
      [K in KeysOf<Mine> & KeysOf<Theirs>]:
        | (Same<IsOptional<Mine, K>, IsOptional<Theirs, K>> extends true
            ? never
            : `${At}.${K} is optional on one side only`)
        | Differences<
            Exclude<Value<Mine, K>, undefined>,
            Exclude<Value<Theirs, K>, undefined>,
            `${At}.${K}`
          >;
    }[KeysOf<Mine> & KeysOf<Theirs>];

/** The members that every alternative requires. */
type Needed<T> = {
  [K in KeysOf<T> as IsOptional<T, K> extends true ? never : K]: Exclude<Value<T, K>, undefined>;
};
/** The required members, and `K`. */
type With<T, K extends string> = Needed<T> & { [P in K]: Exclude<Value<T, P>, undefined> };
type Takes<T, Given> = [Given] extends [T] ? true : false;
/** Whether both accept each optional member alone: an email needs `html` or `text`. */
type Alternatives<Mine, Theirs, At extends string> = {
  [K in KeysOf<Theirs> & KeysOf<Mine>]: false extends IsOptional<Theirs, K>
    ? never
    : Same<Takes<Mine, With<Mine, K>>, Takes<Theirs, With<Theirs, K>>> extends true
      ? never
      : `${At} needs no more than ${K} on one side only`;
}[KeysOf<Theirs> & KeysOf<Mine>];

/** The method of each operation. */
export interface Methods {
  sendEmail: "emails.send";
  getSend: "sends.get";
  createDomain: "domains.create";
  verifyDomain: "domains.verify";
  listWebhookEventTypes: "webhookEventTypes.list";
  createWebhookEndpoint: "webhookEndpoints.create";
  rotateWebhookEndpointSecret: "webhookEndpoints.rotateSecret";
  archiveWebhookEndpoint: "webhookEndpoints.archive";
  listWebhookEvents: "webhookEvents.list";
  redeliverWebhookEvent: "webhookEvents.redeliver";
}

/** The methods that are built from others. */
type Recipes = "emails.sendAll" | "sends.waitFor" | "webhookEvents.redeliverFailed";

type MethodNames<C> = { [G in KeysOf<C>]: `${G}.${KeysOf<C[G]>}` }[KeysOf<C>];
type Method<C, Name> = Name extends `${infer G}.${infer N}` ? Value<Value<C, G>, N> : never;

interface Operation {
  path: readonly string[];
  query: object;
  header: object;
  body: unknown;
  result: unknown;
}

/** A method's arguments as the members of an operation: strings, then a body or a query, then options. */
type Requested<Given, Documented extends Operation> = Given extends [
  ...Documented["path"],
  ...infer Rest,
  infer Options,
]
  ? {
      body: [Documented["body"]] extends [undefined] ? undefined : Rest[0];
      query: [undefined, Rest] extends [Documented["body"], [object]]
        ? Rest[0]
        : Omit<Options, keyof KeyedRequestOptions | keyof RotateOptions>;
      header: "idempotencyKey" extends keyof Options ? { "Idempotency-Key": string } : object;
      isWhole: Rest extends (Documented["body"] extends undefined ? [] | [object] : [object])
        ? true
        : false;
    }
  : undefined;

type OperationDifferences<M, D extends Operation, At extends string> = M extends (
  ...given: infer Given
) => infer Returned
  ? | RequestDifferences<Requested<Required<Given>, D>, D, At>
    | ResultDifferences<Returned, D["result"], `${At} result`>
  : `${At} has no method`;

type RequestDifferences<R, D extends Operation, At extends string> = R extends {
  body: infer Body;
  query: infer Query;
  header: infer Header;
  isWhole: true;
}
  ? | Differences<Body, D["body"], `${At} body`>
    | Members<Query, D["query"], `${At} query`>
    | Members<Header, D["header"], `${At} header`>
  : `${At} has other arguments in the document`;

type ResultDifferences<Returned, Result, At extends string> =
  Returned extends List<infer Item>
    ? Result extends
        { readonly data: readonly (infer Documented)[] } | readonly (infer Documented)[]
      ? Differences<Item, Documented, At>
      : `${At} is a list in the client only`
    : [Result] extends [undefined]
      ? undefined extends Awaited<Returned>
        ? never
        : `${At} is missing in the document`
      : Differences<Omit<Exclude<Awaited<Returned>, undefined>, "idempotencyKey">, Result, At>;

/**
 * The differences of all operations.
 *
 * @param Operations those of a document, by `operationId`
 */
export type DocumentDifferences<Operations, C = Client> =
  | `${Exclude<KeysOf<Operations>, keyof Methods>} has no method`
  | `${Exclude<keyof Methods, KeysOf<Operations>>} is not in the document`
  | `${Exclude<MethodNames<C>, Methods[keyof Methods] | Recipes>} has no operation`
  | {
      [Id in keyof Methods & keyof Operations]: Operations[Id] extends Operation
        ? OperationDifferences<Method<C, Methods[Id]>, Operations[Id], Methods[Id]>
        : `${Id} has another form`;
    }[keyof Methods & keyof Operations];
