import type { PageState } from "./page-state.js";

/** The fields of a form that was sent. */
export type Fields = Readonly<Record<string, readonly string[]>>;

export const field = (fields: Fields, name: string): string => fields[name]?.[0] ?? "";

/** A form of the page: a control route, with its JSON made of fields. */
interface PageAction {
  /** Below `/_sandbox/`. `{name}` stands for a field. */
  readonly route: string;
  readonly body?: (fields: Fields) => object;
  /** What the page reports after it. */
  readonly done: string;
  /** The item that the page shows after it. */
  readonly follow?: (result: Readonly<Record<string, unknown>>) => string | undefined;
  /** Shows its response in the page instead: it is too secret, or too foreign, for a URL. */
  readonly shows?: "secret" | "explanation";
  /** Afterwards there is nothing left that the page could show or filter. */
  readonly clears?: true;
  /** Where the page scrolls to. Default: the item. */
  readonly anchor?: string;
}

/** Actions that show a secret take effect once, however often their response is loaded again. */
export const needsToken = ({ shows }: PageAction): boolean => shows === "secret";

export const pageActions = {
  "run-now": { route: "deliveries/{id}/run-now", done: "The attempt is made now." },
  skip: { route: "deliveries/{id}/skip", done: "The next attempt was skipped." },
  redeliver: { route: "deliveries/{id}/redeliver", done: "The delivery is sent again." },
  send: {
    route: "deliveries/{id}/send",
    body: (fields) => ({
      ...numbers(fields, "times"),
      ...(field(fields, "at_once") === "" ? {} : { at_once: true }),
      ...given(fields, "tamper"),
      // Browsers send the lines of a text area with CRLF.
      ...(fields["body"] ? { body: field(fields, "body").replaceAll("\r\n", "\n") } : {}),
    }),
    done: "It was sent.",
    follow: ({ delivery }) => (delivery as { readonly id?: string } | undefined)?.id,
  },
  explain: {
    route: "deliveries/{id}/attempts/{n}/explain",
    body: (fields) => ({ value: field(fields, "value").trim() }),
    done: "",
    shows: "explanation",
  },
  "test-email": {
    route: "test-email",
    body: (fields) => ({
      ...given(fields, "to"),
      ...given(fields, "subject"),
      ...given(fields, "scenario"),
    }),
    done: "The email was accepted.",
    follow: ({ send_id }) => (typeof send_id === "string" ? send_id : undefined),
  },
  clock: {
    route: "clock",
    body: (fields) => ({
      ...numbers(fields, "advance_ms", "speed"),
      ...given(fields, "to"),
      ...given(fields, "mode"),
    }),
    done: "The clock was moved or set.",
    anchor: "header",
    follow({ item }) {
      const id = (item as { readonly id?: string } | undefined)?.id;
      return id?.startsWith("dlv_") === true ? id : undefined;
    },
  },
  "create-endpoint": {
    route: "endpoints",
    body: (fields) => ({ url: field(fields, "url").trim(), event_types: fields["type"] ?? [] }),
    done: "The endpoint was registered.",
    shows: "secret",
    anchor: "endpoints",
  },
  "rotate-secret": {
    route: "endpoints/{id}/rotate-secret",
    done: "The secret was rotated.",
    shows: "secret",
    anchor: "endpoints",
  },
  archive: {
    route: "endpoints/{id}/archive",
    done: "The endpoint was archived.",
    anchor: "endpoints",
  },
  "verify-domain": {
    route: "domains/{id}/verify",
    done: "The domain was verified.",
    anchor: "domains",
  },
  "force-domain": {
    route: "domains/{id}/force",
    body: (fields) => ({ outcome: field(fields, "outcome") }),
    done: "The domain has the chosen status.",
    anchor: "domains",
  },
  "add-fault": {
    route: "faults",
    body: (fields) => ({
      target: field(fields, "target"),
      kind: field(fields, "kind"),
      ...numbers(fields, "times", "status", "retry_after", "delay_ms"),
    }),
    done: "The fault was added.",
    anchor: "faults",
  },
  "cancel-fault": {
    route: "faults/{id}/cancel",
    done: "The fault was cancelled.",
    anchor: "faults",
  },
  "set-assumption": {
    route: "assumptions/{id}",
    body: (fields) => ({ value: field(fields, "value").trim() }),
    done: "The assumption was changed.",
    anchor: "assumptions",
  },
  reset: { route: "reset", done: "Everything was removed.", clears: true, anchor: "header" },
} as const satisfies Readonly<Record<string, PageAction>>;

export type ActionName = keyof typeof pageActions;

export const isAction = (name: string): name is ActionName => Object.hasOwn(pageActions, name);

export const actionOf = (name: ActionName): PageAction => pageActions[name];

/** The path of an action's route. */
export const pathOf = ({ route }: PageAction, fields: Fields): string =>
  `/_sandbox/${route.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(field(fields, name)))}`;

/** The address after an action that needs no response: the item that it concerned. */
export function stateAfter(
  current: PageState,
  { follow, clears }: PageAction,
  result: Readonly<Record<string, unknown>>,
): PageState {
  if (clears) return current.refresh === undefined ? {} : { refresh: current.refresh };
  const item = follow?.(result);
  return item === undefined || item === current.item
    ? { ...current, attempt: undefined, from: undefined }
    : { ...current, item, attempt: undefined, from: undefined, full: undefined };
}

const given = (fields: Fields, name: string) =>
  field(fields, name) === "" ? {} : { [name]: field(fields, name) };

/** Fields that are numbers; a text that is not one is refused by the route. */
const numbers = (fields: Fields, ...names: readonly string[]) =>
  Object.fromEntries(
    names
      .filter((name) => field(fields, name).trim() !== "")
      .map((name) => {
        const text = field(fields, name).trim();
        return [name, /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text];
      }),
  );
