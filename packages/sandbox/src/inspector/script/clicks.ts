import { all, bring } from "./dom.js";
import { go } from "./navigation.js";
import { dismiss } from "./pieces.js";
import { say } from "./say.js";
import { showOlder } from "./timeline.js";
import { ask } from "./updates.js";

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.", 3);
  } catch {
    say("The browser did not allow copying.", 3);
  }
}

/** Replaces a piece even though it is in use. */
function showChanged(piece: HTMLElement): Promise<void> {
  for (const form of all<HTMLFormElement>("form", piece)) form.reset();
  dismiss(piece);
  return ask({ whole: true });
}

export async function click(event: MouseEvent): Promise<void> {
  const target = event.target as Element;
  const text = target.closest<HTMLElement>("[data-copy]")?.dataset.copy;
  if (text) return copy(text);
  if (target.matches(".stale")) return showChanged(target.parentElement as HTMLElement);
  const link = target.closest("a");
  const { button, ctrlKey, metaKey, shiftKey, altKey } = event;
  if (!link || button || ctrlKey || metaKey || shiftKey || altKey) return;
  const address = link.getAttribute("href") ?? "";
  if (address.startsWith("#")) return bring(address.slice(1));
  if ("copyFrom" in link.dataset && navigator.clipboard) {
    event.preventDefault();
    return copy(await (await fetch(address)).text());
  }
  if (!/^\/(?:$|[?#])/.test(address)) return;
  event.preventDefault();
  const kept = "dismiss" in link.dataset && link.closest<HTMLElement>("[data-keep]");
  if (kept) dismiss(kept);
  return link.id === "older" ? showOlder() : go(address);
}
