import { all, byId, find, the } from "./dom.js";
import { showRestart } from "./live.js";
import { insert, mustStay, offer, replace, resultIn } from "./pieces.js";
import { say } from "./say.js";
import { setClock } from "./time.js";
import { countRows, merge, newer } from "./timeline.js";

const pieces = (root?: ParentNode): HTMLElement[] => all("[data-rev]:not(#calls > li)", root);

/**
 * Replaces the pieces whose revision has changed, inserts new ones, and removes those that no longer exist. Pieces in
 * use stay. If they have changed, they get a button that replaces them.
 *
 * @param next the page, or parts of it
 * @param asked the ids of the calls that were requested; undefined if a page of calls was requested
 */
export function show(next: Document, asked?: ReadonlySet<string>): void {
  const { scope } = the("#detail").dataset;
  const text = find("[data-announce]")?.textContent;
  const parts = all("#header, #timeline, #detail", next).map(({ id }) => id);
  const fresh = pieces(next);
  const ids = new Set(fresh.map(({ id }) => id));
  showRestart(byId("live", next));
  setClock(byId("clock", next));
  for (const part of all("[data-scope]", next)) {
    const old = the(`#${part.id}`);
    if (old.dataset.scope !== part.dataset.scope) replace(old, part);
    else if (part.id === "calls") merge(part, asked);
  }
  // The pieces of a replaced part are already in the page, so they are no longer in `next`.
  for (const piece of fresh.filter((element) => next.contains(element)))
    showPiece(byId(piece.id), piece, Boolean(next.title));
  for (const part of parts)
    for (const piece of pieces(the(`#${part}`)))
      if (!ids.has(piece.id) && !mustStay(piece)) piece.remove();
  countRows();
  const now = find("[data-announce]")?.textContent;
  if (the("#detail").dataset.scope === scope && now !== text) say(now, 1);
}

function showPiece(old: HTMLElement | null, piece: HTMLElement, isPage: boolean): void {
  if (!old) return insert(piece);
  const isChanged = old.dataset.rev !== piece.dataset.rev;
  const isResult = resultIn(piece);
  const wasResult = resultIn(old);
  // The result of an action stays until the next action or navigation, which shows a whole page.
  if (!isChanged && !isResult && !(isPage && wasResult)) return;
  // A response with only parts lacks the notice of the last action, so the old notice stays. A filter in use stays too.
  if (piece.id === "notice" && !isPage) return;
  if (piece.id === "filter" && old.contains(document.activeElement)) return;
  if (isResult || !(mustStay(old) || (wasResult && !isPage))) replace(old, piece);
  else if (isChanged) offer(old);
}

/** Shows a complete page that was loaded. */
export function showPage(next: Document): void {
  newer.clear();
  show(next);
  document.title = next.title;
}
