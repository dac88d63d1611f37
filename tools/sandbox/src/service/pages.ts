import type { Settings } from "../assumptions/table.js";

export const defaultLimit = 20;

/** Returns a list without pagination, in the shape that A-15 specifies. */
export const wholeList = (items: readonly object[], shape: Settings["pagination"]): unknown =>
  shape === "array" ? items : { data: items, has_more: false, next_cursor: null };

/** Returns one page of a list: the first `limit` of `items`. Any further item means that there is another page. */
export function page<Item, Shown>(
  items: readonly Item[],
  limit: number,
  cursorOf: (item: Item) => string,
  show: (item: Item) => Shown,
): { readonly data: Shown[]; readonly has_more: boolean; readonly next_cursor: string | null } {
  const shown = items.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = items.length > limit;
  return {
    data: shown.map(show),
    has_more: hasMore,
    next_cursor: hasMore && last !== undefined ? cursorOf(last) : null,
  };
}
