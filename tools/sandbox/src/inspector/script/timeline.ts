import { address } from "./address.js";
import { all, byId, find, the } from "./dom.js";
import { enliven, replace } from "./pieces.js";
import { load } from "./requests.js";

/** The maximum number of rows in the list: three pages of the server's list. */
const mostRows = 300;

const rows = (root?: ParentNode): HTMLElement[] => all("#calls > li", root);

/**
 * The ids of newer calls that are not shown, because the start of the list was out of view or in use, or because their
 * rows made room for older calls.
 */
export const newer = new Set<string>();

const timeOf = (row: Element): string => row.querySelector("time")?.dateTime ?? "";

/**
 * Replaces, adds and removes rows to match the server's list. Adds to `newer` the ids of new calls that are not shown.
 *
 * @param fresh the list as the server has rendered it
 * @param asked the ids of the calls that were requested; undefined if a page of calls was requested
 */
export function merge(fresh: HTMLElement, asked?: ReadonlySet<string>): void {
  const list = the("#calls");
  const next = fresh.ownerDocument;
  const isAtTop =
    next.title ||
    (!newer.size &&
      !address.query.has("before") &&
      !find(":focus-visible", list) &&
      list.getBoundingClientRect().top >= 0);
  const received = rows(next);
  const last = byId("older", next) ? (received.at(-1)?.id ?? "") : "";
  // If the last row of the new page is not shown yet, all shown rows are older than it, so the new page replaces them.
  if (!asked && isAtTop && last && !byId(last)) return replace(list, fresh);
  const ids = new Set(received.map(({ id }) => id));
  // Rows are added oldest first, so that calls with equal times, as on a manual clock, end up newest first.
  for (const row of received.toReversed()) {
    const old = byId(row.id);
    if (old?.dataset.rev === row.dataset.rev) continue;
    if (old) {
      replace(old, row);
      continue;
    }
    const place = rows().find((other) => timeOf(other) <= timeOf(row));
    if (isAtTop || (place && place !== list.firstElementChild)) {
      list.insertBefore(row, place ?? null);
      enliven(row);
    } else newer.add(row.id);
  }
  // Rows that the server no longer lists are removed, unless they are in use. Rows of older pages stay, because this
  // response does not cover them.
  let isKnown = !last || byId(last) !== null;
  for (const row of rows()) {
    const isAbsent = !ids.has(row.id) && (asked ? asked.has(row.id) : isKnown);
    if (isAbsent && !find(":focus, .sel", row)) row.remove();
    if (row.id === last) isKnown = false;
  }
  for (const row of rows().slice(mostRows)) row.remove();
}

/** Updates the links and counts around the rows, which the server renders for only one page of rows. */
export function countRows(): void {
  const shown = rows();
  const link = the("#newer");
  link.hidden = !newer.size && !address.query.has("before");
  if (newer.size) link.textContent = `${newer.size} newer ${newer.size === 1 ? "call" : "calls"}`;
  const count = find("[data-shown]");
  if (count) count.textContent = shown.length.toLocaleString("en");
  const older = byId("older") as HTMLAnchorElement | null;
  const cursor = shown.at(-1)?.dataset.cursor;
  if (!older || !cursor) return;
  const query = new URLSearchParams(address.query);
  query.set("before", cursor);
  older.href = `/?${query}#timeline`;
}

/** Appends the next page of older calls. Removes the newest rows if there are more than {@link mostRows}. */
export async function showOlder(): Promise<void> {
  const link = the("#older") as HTMLAnchorElement;
  if (link.ariaBusy) return;
  link.ariaBusy = "true";
  const { generation } = address;
  const next = await load(`${link.href.replace("#timeline", "")}&part=timeline`);
  link.ariaBusy = null;
  if (!next || generation !== address.generation) return;
  const list = the("#calls");
  const seen = list.lastElementChild;
  const top = seen?.getBoundingClientRect().top ?? 0;
  for (const row of rows(next)) {
    if (byId(row.id)) continue;
    list.append(row);
    enliven(row);
  }
  for (const row of rows().slice(0, -mostRows)) {
    newer.add(row.id);
    row.remove();
  }
  if (!byId("older", next)) link.remove();
  countRows();
  // Scrolls back, because removing the rows above has moved the text that the user is reading.
  if (seen) scrollBy(0, seen.getBoundingClientRect().top - top);
}
