import { attemptRange } from "../lib/attempt-range.js";
import { z } from "zod";
import { isCursor, timelineQuery } from "../read/search.js";

const number = z.string().regex(/^[1-9]\d{0,6}$/);

const { state, type, endpoint_id, q } = timelineQuery.shape;

const fields = z
  .object({
    /** The id of the selected item: `dlv_…`, `evt_…`, `send_…`, `src_…` or `call_…`. */
    item: z.string().regex(/^(?:dlv|evt|send|src|call)_\w{1,60}$/),
    /** The number of the selected attempt. Default: the newest. */
    attempt: number,
    /** The number of the first attempt on the current page of the attempts table. Default: that of the newest page. */
    from: number,
    /** Set to show all stored bytes of each body. */
    full: z.literal("true"),
    state,
    type,
    endpoint_id,
    q,
    /** Set to show successful reads too. */
    reads: z.literal("true"),
    before: z.string().refine(isCursor),
    /** The seconds between reloads of the page, for browsers without JavaScript. */
    refresh: z.enum(["5", "30"]),
  })
  .partial();

/** The state of the page, as its URL describes it. */
export type PageState = Readonly<z.output<typeof fields>>;

/** The parameters that filter the timeline. */
export const filterNames = ["state", "type", "endpoint_id", "q"] as const;

/** Parses the parameters of a URL. Ignores invalid parameters, because people edit URLs. */
export function readState(params: URLSearchParams): PageState {
  const entries = Object.entries(fields.shape).map(([name, schema]) => {
    const { data } = schema.safeParse(params.get(name) || undefined);
    return [name, data] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Returns the page's URL with some parameters changed. A value of undefined removes a parameter. */
export function href(current: PageState, changes: Partial<PageState> = {}, anchor = ""): string {
  const entries = Object.entries({ ...current, ...changes }).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  const query = new URLSearchParams(entries).toString();
  return `/${query === "" ? "" : `?${query}`}${anchor === "" ? "" : `#${anchor}`}`;
}

/** Returns the URL that shows an item and keeps the current filters. */
export const itemHref = (current: PageState, item: string, attempt?: number): string =>
  href(current, { item, attempt: attempt?.toString(), from: undefined, full: undefined }, "detail");

/** Returns the number of the attempt that is shown, or 0 if there is none. */
export function shownAttempt(
  { attempt }: PageState,
  attempts: Parameters<typeof attemptRange>[0],
): number {
  const { first, last } = attemptRange(attempts);
  return Math.min(Math.max(Number(attempt ?? last), first), last);
}

export const hasFilter = (current: PageState): boolean =>
  filterNames.some((name) => current[name] !== undefined);

/** Returns the URL that shows the newest calls without filters. */
export const clearHref = (current: PageState): string =>
  href(
    current,
    { state: undefined, type: undefined, endpoint_id: undefined, q: undefined, before: undefined },
    "timeline",
  );
