/** Returns the first element that matches, or null. */
export const find = (selector: string, root: ParentNode = document): HTMLElement | null =>
  root.querySelector<HTMLElement>(selector);

export const all = <E extends Element = HTMLElement>(
  selector: string,
  root: ParentNode = document,
): E[] => [...root.querySelectorAll<E>(selector)];

export const byId = (id: string, root?: ParentNode): HTMLElement | null =>
  find(`#${CSS.escape(id)}`, root);

/** Returns an element that is always on the page. */
export const the = (selector: string, root?: ParentNode): HTMLElement =>
  find(selector, root) as HTMLElement;

export const clockText = (ms: number): string => new Date(ms).toISOString().slice(11, 19);

/** Opens the menus around the element with this id, if it exists, and scrolls the element into view. */
export function bring(id: string): void {
  const place = id ? byId(id) : null;
  if (!place) return;
  let menu = place.closest("details");
  for (; menu; menu = menu.parentElement?.closest("details") ?? null) menu.open = true;
  place.scrollIntoView({ block: "nearest" });
}
