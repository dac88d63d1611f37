import { clockText, the } from "./dom.js";
import { say } from "./say.js";

/** The stream of changes, and whether the display of changes is paused. */
export const live: { stream?: EventSource; isPaused: boolean } = { isPaused: false };

function write(state: string, text: string): void {
  the(".live").dataset.live = state;
  the("[data-live-text]").textContent = text;
}

export function showConnected(): void {
  if (live.stream?.readyState === EventSource.OPEN)
    write("live", live.isPaused ? "Paused" : "Live");
}

export function showLost(): void {
  if (the(".live").dataset.live === "off") return;
  const text = `Disconnected since ${clockText(Date.now())}, reconnecting`;
  write("off", text);
  say(text, 2);
}

/**
 * Shows and announces a restart of the sandbox, if there was one.
 * @param fresh the element `#live` as the server has rendered it
 */
export function showRestart(fresh: HTMLElement | null): void {
  const known = the("#live").dataset;
  if (!fresh || fresh.dataset.started === known.started) return;
  known.started = fresh.dataset.started;
  const text = `Restarted ${clockText(Date.now())}, ${fresh.dataset.kept}`;
  const place = the("#restarted");
  place.textContent = text;
  place.hidden = false;
  say(text, 2);
}
