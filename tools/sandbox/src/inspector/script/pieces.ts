import { all, byId, find } from "./dom.js";
import { countdowns } from "./time.js";

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const fields = "input, select, textarea";

/** Whether the user has changed the field. */
function isDirty(field: Field): boolean {
  if ("options" in field) {
    const initial = [...field.options].findIndex((option) => option.defaultSelected);
    return field.selectedIndex !== Math.max(0, initial);
  }
  if ("checked" in field && field.type === "checkbox")
    return field.checked !== field.defaultChecked;
  return field.type !== "hidden" && field.value !== field.defaultValue;
}

export const mustStay = (piece: HTMLElement): boolean =>
  piece.dataset.keep === "true" ||
  (piece.id !== "filter" && all<Field>(fields, piece).some(isDirty));

/** Returns the element in `place` that shows the result of an action, or null. */
export const resultIn = (place: ParentNode): HTMLElement | null =>
  find(".refused, .secret, .verdict[role=status]", place);

/** Returns a name that identifies a form: the values of its hidden fields, such as its action and its item. */
const nameOf = (form: HTMLFormElement): string =>
  all<HTMLInputElement>("input[type=hidden]:not([name=token])", form)
    .map(({ value }) => value)
    .join();

/** Returns the control in `fresh` that corresponds to `control`, if there is one. */
function twinOf(
  control: Element,
  form: HTMLFormElement,
  fresh: ParentNode,
): HTMLElement | undefined {
  const twin = all<HTMLFormElement>("form", fresh).find((other) => nameOf(other) === nameOf(form));
  return twin?.elements[[...form.elements].indexOf(control)] as HTMLElement | undefined;
}

/** An element that can have the focus, with the optional properties of controls and links. */
type Focusable = HTMLElement &
  Partial<Pick<HTMLInputElement, "form" | "disabled" | "selectionStart" | "setSelectionRange">> &
  Partial<Pick<HTMLAnchorElement, "href">>;

/** Returns a function that restores the focus after `fresh` has replaced `old`. */
function focusKeeper(old: Element, fresh: Element): () => void {
  const active = document.activeElement as Focusable | null;
  if (!active || !old.contains(active)) return () => {};
  const { id, form, href, ariaLabel, localName, selectionStart: caret } = active;
  const menu = active.closest("details")?.id;
  return () => {
    let target: Focusable | null | undefined;
    if (id) target = byId(id);
    else if (form) target = twinOf(active, form, fresh);
    else if (href) target = all<HTMLAnchorElement>("a", fresh).find((twin) => twin.href === href);
    else if (ariaLabel) target = all(localName, fresh).find((twin) => twin.ariaLabel === ariaLabel);
    else if (menu) target = find("summary", byId(menu) ?? fresh);
    if (!target || target.disabled) target = fresh.closest("[tabindex]");
    target?.focus({ preventScroll: true });
    if (caret) target?.setSelectionRange?.(caret, caret);
  };
}

/** Copies the values that the user has changed into the new element. */
function carry(old: Element, fresh: Element): void {
  for (const field of all<Field>(fields, old)) {
    const { form, value, checked } = field as HTMLInputElement;
    const twin = form && isDirty(field) && twinOf(field, form, fresh);
    if (twin) Object.assign(twin, { value, checked });
  }
}

export function replace(old: HTMLElement, fresh: HTMLElement): void {
  if (old.id !== "filter" && fresh.dataset.rev) carry(old, fresh);
  for (const menu of all<HTMLDetailsElement>("details[id]", old)) {
    const twin = byId(menu.id, fresh) as HTMLDetailsElement | null;
    if (twin) twin.open = menu.open;
  }
  const keepFocus = focusKeeper(old, fresh);
  old.replaceWith(fresh);
  enliven(fresh);
  keepFocus();
}

/** Inserts a new piece after its nearest preceding sibling that the page also contains, or else first in its parent. */
export function insert(piece: HTMLElement): void {
  let sibling = piece.previousElementSibling;
  while (sibling && !(sibling.id && byId(sibling.id))) sibling = sibling.previousElementSibling;
  if (sibling) byId(sibling.id)?.after(piece);
  else byId(piece.parentElement?.id ?? "")?.prepend(piece);
  enliven(piece);
}

/** Lets the next update replace a piece that is kept or shows a result, unless the user has changed its fields. */
export function dismiss(piece: HTMLElement): void {
  delete piece.dataset.keep;
  piece.dataset.rev = "";
  resultIn(piece)?.remove();
}

/** Adds a button that replaces a piece in use, if the piece does not have one yet. */
export function offer(piece: HTMLElement): void {
  if (find(".stale", piece)) return;
  const button = document.createElement("button");
  button.className = "stale";
  button.textContent = "Show changes";
  piece.prepend(button);
}

const ends = new IntersectionObserver((entries) => {
  const end = scrollY ? entries.find(({ isIntersecting }) => isIntersecting)?.target : undefined;
  (end as HTMLElement | undefined)?.click();
});

/** Shows the copy buttons if the browser can copy text, and observes the countdowns and the link to older calls. */
export function enliven(root: ParentNode): void {
  for (const button of all("[data-copy]", root)) button.hidden = !navigator.clipboard;
  for (const due of all("[data-due]", root)) countdowns.observe(due);
  for (const link of all("#older", root)) ends.observe(link);
}
