import type { ActionName, ResultOf } from "../control/actions.js";
import type { PageState } from "./page-state.js";

/** The fields of a submitted form. */
export type Fields = Readonly<Record<string, readonly string[]>>;

export const field = (fields: Fields, name: string): string => fields[name]?.[0] ?? "";

/** The form of an action. Its fields also contain the parameters of the action's route. */
interface Form<Result> {
  /** Returns the request body of the action, before the schema parses it. Default: `{}`. */
  readonly body?: (fields: Fields) => object;
  /** The notice that the page shows after the action. */
  readonly done: string;
  /** Returns the item that the page shows after the action. Default: the current item. */
  readonly follow?: (result: Result) => string | undefined;
  /**
   * Set if the page shows the result without a redirect. The URL of a redirect would have to contain the result, but
   * must not contain secrets or untrusted text.
   */
  readonly shows?: "secret" | "explanation";
  /** Set to clear the item and the filters, because the records that they refer to may be gone. */
  readonly clears?: true;
  /** The id to which the page scrolls. Default: `detail`. */
  readonly anchor?: string;
}

/**
 * Whether the form needs a single-use token. With a token, an action that shows a secret runs only once, even if the
 * user reloads the response.
 */
export const needsToken = ({ shows }: Form<unknown>): boolean => shows === "secret";

export const forms: { readonly [Name in ActionName]: Form<ResultOf<Name>> } = {
  "run-now": { done: "The attempt is being made now." },
  skip: { done: "The next attempt was skipped." },
  redeliver: { done: "The delivery is being sent again." },
  send: {
    body: (fields) => ({
      ...numbers(fields, "times"),
      ...(field(fields, "concurrent") === "" ? {} : { concurrent: true }),
      ...texts(fields, "tamper"),
      // Browsers submit each line break in a text area as CRLF, so this restores the LF of the body.
      ...(fields["body"] ? { body: field(fields, "body").replaceAll("\r\n", "\n") } : {}),
    }),
    done: "The delivery is being sent.",
    follow: ({ delivery }) => delivery.id,
  },
  explain: {
    body: (fields) => ({ value: field(fields, "value").trim() }),
    done: "",
    shows: "explanation",
  },
  "test-email": {
    body: (fields) => texts(fields, "to", "subject", "scenario"),
    done: "The email was accepted.",
    follow: ({ send_id: id }) => id,
  },
  clock: {
    body: (fields) => ({
      ...numbers(fields, "advance_ms", "speed"),
      ...texts(fields, "to", "mode"),
    }),
    done: "The clock was changed.",
    anchor: "header",
    follow: ({ item }) => (item?.id.startsWith("dlv_") ? item.id : undefined),
  },
  "create-endpoint": {
    body: (fields) => ({ url: field(fields, "url").trim(), event_types: fields["type"] ?? [] }),
    done: "The endpoint was registered.",
    shows: "secret",
    anchor: "endpoints",
  },
  "rotate-secret": { done: "The secret was rotated.", shows: "secret", anchor: "endpoints" },
  archive: { done: "The endpoint was archived.", anchor: "endpoints" },
  "verify-domain": { done: "The verification is complete.", anchor: "domains" },
  "force-domain": {
    body: (fields) => ({ outcome: field(fields, "outcome") }),
    done: "The domain's status was changed.",
    anchor: "domains",
  },
  "add-fault": {
    body: (fields) => ({
      target: field(fields, "target"),
      kind: field(fields, "kind"),
      ...numbers(fields, "times", "status", "retry_after", "delay_ms"),
      ...texts(fields, "result"),
      ...(field(fields, "sign_again") === "" ? {} : { sign_again: true }),
    }),
    done: "The fault was added.",
    anchor: "faults",
  },
  "cancel-fault": { done: "The fault was canceled.", anchor: "faults" },
  "set-assumption": {
    body: (fields) => ({ value: field(fields, "value").trim() }),
    done: "The assumption was changed.",
    anchor: "assumptions",
  },
  checkpoint: {
    body: (fields) => texts(fields, "name"),
    done: "The checkpoint was taken.",
    anchor: "checkpoints",
  },
  rewind: {
    done: "The sandbox was rewound to the checkpoint.",
    clears: true,
    anchor: "checkpoints",
  },
  "start-recording": { done: "The recording has begun.", anchor: "recording" },
  "stop-recording": {
    body: (fields) => texts(fields, "name"),
    done: "The recording has ended.",
    anchor: "recording",
  },
  reset: { done: "Everything was removed.", clears: true, anchor: "header" },
};

/** Returns the form of any action, with a type that does not depend on the action. */
export const formOf = (name: ActionName): Form<unknown> => forms[name] as Form<unknown>;

/**
 * Returns the page's state after an action that ends with a redirect. If the form has `clears`, keeps only `refresh`.
 * Otherwise, selects the item that `follow` returns, if there is one.
 */
export function stateAfter(
  current: PageState,
  { follow, clears }: Form<unknown>,
  result: unknown,
): PageState {
  if (clears) return current.refresh === undefined ? {} : { refresh: current.refresh };
  const item = follow?.(result);
  return item === undefined || item === current.item
    ? { ...current, attempt: undefined, from: undefined }
    : { ...current, item, attempt: undefined, from: undefined, full: undefined };
}

const texts = (fields: Fields, ...names: readonly string[]) =>
  Object.fromEntries(
    names.map((name) => [name, field(fields, name)]).filter(([, value]) => value !== ""),
  );

/** Returns the named fields that are not empty, as numbers. Keeps text that is not a number: the schema rejects it. */
const numbers = (fields: Fields, ...names: readonly string[]) =>
  Object.fromEntries(
    names
      .map((name) => [name, field(fields, name).trim()] as const)
      .filter(([, text]) => text !== "")
      .map(([name, text]) => [name, /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text]),
  );
