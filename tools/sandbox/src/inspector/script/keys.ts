import { all, find, the } from "./dom.js";

function moveRow(by: number): void {
  const rows = all("#calls a.name");
  const active = rows.findIndex((row) => row === document.activeElement);
  const index = active < 0 ? rows.findIndex(({ ariaCurrent }) => ariaCurrent) : active;
  rows[Math.max(0, index + by)]?.focus();
}

function moveAttempt(by: number): void {
  const rows = all("#attempts tbody a");
  rows[rows.findIndex(({ ariaCurrent }) => ariaCurrent) + by]?.click();
}

const visit = (place: string) => (): void => {
  the(place).scrollIntoView();
  the(place).focus({ preventScroll: true });
};

/** Keyboard shortcuts that no control of the page declares with `data-key`. */
const keys: Readonly<Record<string, () => void>> = {
  j: () => moveRow(1),
  k: () => moveRow(-1),
  "[": () => moveAttempt(-1),
  "]": () => moveAttempt(1),
  p: () => the("#pause").click(),
  "?": () => the("#help").click(),
  1: visit("#endpoints"),
  2: visit("#faults"),
  3: visit("#assumptions"),
  4: visit("#domains"),
};

/** The checkbox that turns keyboard shortcuts on and off. */
export const shortcuts = the("#shortcuts-on") as HTMLInputElement;

/** Removes the focus from an element. If an open menu contains it, closes the menu and focuses the menu's summary. */
function leave(target: HTMLElement): void {
  const menu = target.closest<HTMLDetailsElement>("details[open]");
  target.blur();
  if (!menu) return;
  menu.open = false;
  find("summary", menu)?.focus();
}

export function press(event: KeyboardEvent): void {
  const { key, ctrlKey, metaKey, altKey } = event;
  const target = event.target as HTMLElement;
  if (key === "Escape") leave(target);
  const isField = target.closest("input:not([type=checkbox]), select, textarea, dialog");
  if (ctrlKey || metaKey || altKey || isField || !shortcuts.checked) return;
  const control = find(`[data-key="${CSS.escape(key)}"]`);
  if (!control && !keys[key]) return;
  event.preventDefault();
  if (!control) return keys[key]?.();
  if (control.matches("[type=search]")) control.focus();
  else control.click();
  const menu = control.parentElement;
  if (menu?.matches("[open]")) find("textarea", menu)?.focus();
}
