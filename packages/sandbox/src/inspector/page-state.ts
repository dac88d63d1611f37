import { attemptRange } from "../lib/attempt-range.js";
import { z } from "zod";
import { isCursor, timelineQuery } from "../read/search.js";

const number = z.string().regex(/^[1-9]\d{0,6}$/);

const { state, type, endpoint_id, q } = timelineQuery.shape;

const fields = z
  .object({
    /** `dlv_…`, `evt_…`, `send_…`, `src_…` or `call_…`. */
    item: z.string().regex(/^(?:dlv|evt|send|src|call)_\w{1,60}$/),
    /** The number of an attempt of a delivery. Default: the newest. */
    attempt: number,
    /** The first attempt of the table's page. Default: that of the newest page. */
    from: number,
    /** Shows all bytes that are kept. */
    full: z.literal("true"),
    state,
    type,
    endpoint_id,
    q,
    before: z.string().refine(isCursor),
    /** Seconds after which the page loads itself again, for browsers without JavaScript. */
    refresh: z.enum(["5", "30"]),
  })
  .partial();

/** The page's content, as its URL states it. */
export type PageState = Readonly<z.output<typeof fields>>;

/** The parameters that filter the timeline. */
export const filterNames = ["state", "type", "endpoint_id", "q"] as const;

/** Reads a URL. It ignores an invalid parameter, because people edit addresses. */
export function readState(params: URLSearchParams): PageState {
  const entries = Object.entries(fields.shape).map(([name, schema]) => {
    const { data } = schema.safeParse(params.get(name) || undefined);
    return [name, data] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** The address of the page with other parameters; undefined removes one. */
export function href(current: PageState, changes: Partial<PageState> = {}, anchor = ""): string {
  const entries = Object.entries({ ...current, ...changes }).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  const query = new URLSearchParams(entries).toString();
  return `/${query === "" ? "" : `?${query}`}${anchor === "" ? "" : `#${anchor}`}`;
}

/** The address that shows an item, with the filters that are set. */
export const itemHref = (current: PageState, item: string, attempt?: number): string =>
  href(current, { item, attempt: attempt?.toString(), from: undefined, full: undefined }, "detail");

/** The number of the attempt that is shown, 0 if there is none. */
export function shownAttempt(
  { attempt }: PageState,
  attempts: Parameters<typeof attemptRange>[0],
): number {
  const { first, last } = attemptRange(attempts);
  return Math.min(Math.max(Number(attempt ?? last), first), last);
}

export const hasFilter = (current: PageState): boolean =>
  filterNames.some((name) => current[name] !== undefined);

/** The address of the newest calls without filters. */
export const clearHref = (current: PageState): string =>
  href(
    current,
    { state: undefined, type: undefined, endpoint_id: undefined, q: undefined, before: undefined },
    "timeline",
  );
