import { all, bring, find } from "./dom.js";
import { go } from "./navigation.js";
import { dismiss } from "./pieces.js";
import { say } from "./say.js";
import { showOlder } from "./timeline.js";
import { ask } from "./updates.js";

interface Copied {
  readonly text?: string;
  /** Whether the sandbox stored only a part of the text. */
  readonly truncated?: boolean;
}

/** Copies the text that `read` returns, and shows next to `control` whether that succeeded. */
async function copy(control: HTMLElement, read: () => Copied | Promise<Copied>): Promise<void> {
  const result = document.createElement("span");
  result.className = "copied";
  try {
    const { text, truncated } = await read();
    if (text === undefined) throw new Error("The bytes are not text.");
    await navigator.clipboard.writeText(text);
    result.textContent = truncated ? "Copied only the stored part." : "Copied.";
  } catch (error) {
    result.textContent = `Copying failed. ${(error as Error).message}`;
    result.classList.add("bad");
  }
  find(".copied")?.remove();
  control.after(result);
  say(result.textContent, 3);
}

async function load(address: string): Promise<Response> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`The sandbox responded with ${response.status}.`);
  return response;
}

/** Loads a body from a control route. @param place the path of the body in the route's JSON, such as `response.body` */
async function loadBody(address: string, place: string): Promise<Copied> {
  const item = await (await load(address)).json();
  return place.split(".").reduce((value, name) => value[name], item);
}

/** Discards the input in a piece, and loads the page again, so that the piece is replaced. */
function showChanged(piece: HTMLElement): Promise<void> {
  for (const form of all<HTMLFormElement>("form", piece)) form.reset();
  dismiss(piece);
  return ask({ whole: true });
}

export async function click(event: MouseEvent): Promise<void> {
  const target = event.target as Element;
  find(".copied")?.remove();
  const button = target.closest<HTMLElement>("[data-copy]");
  if (button) {
    const { copy: text = "", from } = button.dataset;
    return copy(button, () => (from ? loadBody(from, text) : { text }));
  }
  if (target.matches(".stale")) return showChanged(target.parentElement as HTMLElement);
  const link = target.closest("a");
  const { button: other, ctrlKey, metaKey, shiftKey, altKey } = event;
  if (!link || other || ctrlKey || metaKey || shiftKey || altKey) return;
  const address = link.getAttribute("href") ?? "";
  if (address.startsWith("#")) return bring(address.slice(1));
  if ("copyFrom" in link.dataset && navigator.clipboard) {
    event.preventDefault();
    return copy(link, async () => ({ text: await (await load(address)).text() }));
  }
  if (!/^\/(?:$|[?#])/.test(address)) return;
  event.preventDefault();
  const kept = "dismiss" in link.dataset && link.closest<HTMLElement>("[data-keep]");
  if (kept) dismiss(kept);
  return link.id === "older" ? showOlder() : go(address);
}
