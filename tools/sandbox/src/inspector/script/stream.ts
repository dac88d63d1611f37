import { address } from "./address.js";
import { all, the } from "./dom.js";
import { live, showConnected, showLost } from "./live.js";
import { say } from "./say.js";
import { newer } from "./timeline.js";
import { ask } from "./updates.js";

let position = document.body.dataset.stream;
let failed = Number(the("[data-count=failed]").textContent.replaceAll(",", ""));

/** The data of a `change` event. */
interface Change {
  readonly changed: readonly { readonly id: string; readonly call?: string }[];
  readonly counts: Readonly<Record<string, number>>;
}

export function connect(): void {
  if (live.stream || document.hidden) return;
  const stream = new EventSource(`/_sandbox/stream?after=${position}`);
  live.stream = stream;
  stream.addEventListener("open", showConnected);
  stream.addEventListener("change", ({ lastEventId, data }) => {
    position = lastEventId;
    const { changed, counts }: Change = JSON.parse(data);
    for (const place of all("[data-count]"))
      place.textContent = counts[place.dataset.count ?? ""]?.toLocaleString("en") ?? "";
    const count = counts.failed ?? 0;
    if (count > failed) say(`Failed deliveries: ${count}.`, 0);
    failed = count;
    void ask({
      setup: changed.some(({ id, call }) => !call || id === address.query.get("item")),
      calls: changed.flatMap(({ call }) => call ?? []),
    });
  });
  stream.addEventListener("resync", ({ lastEventId }) => {
    position = lastEventId;
    newer.clear();
    // Some changes are unknown, and items of the list may no longer exist, so the next response replaces the list.
    the("#calls").dataset.scope = "";
    void ask({ whole: true });
  });
  stream.addEventListener("error", () => {
    showLost();
    if (live.stream?.readyState !== EventSource.CLOSED) return;
    disconnect();
    setTimeout(connect, 2_000);
  });
}

export function disconnect(): void {
  live.stream?.close();
  delete live.stream;
}
