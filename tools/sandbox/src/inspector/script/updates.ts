import { address } from "./address.js";
import { the } from "./dom.js";
import { live } from "./live.js";
import { load, loadedAt } from "./requests.js";
import { show } from "./show.js";

/** The changes to request next. Changes that arrive during a request are requested after it. */
let wanted = { whole: false, setup: false, calls: new Set<string>() };
let isAsking = false;

/** The maximum number of calls that are requested by id. If more have changed, a whole page of calls is requested. */
const mostNamed = 30;

interface Changes {
  readonly whole?: boolean;
  readonly setup?: boolean;
  readonly calls?: readonly string[];
}

/** Loads and shows changed parts of the page. If a request is running, the next request loads the changes. */
export async function ask({ whole = false, setup = false, calls = [] }: Changes): Promise<void> {
  wanted.whole ||= whole;
  wanted.setup ||= setup;
  for (const id of calls) wanted.calls.add(id);
  if (isAsking) return;
  isAsking = true;
  while (await askOnce());
  isAsking = false;
}

/** Requests the pending changes once. Resolves to true if further changes may have arrived meanwhile. */
async function askOnce(): Promise<boolean> {
  const { whole, setup, calls } = wanted;
  if (live.isPaused || !(whole || setup || calls.size)) return false;
  wanted = { whole: false, setup: false, calls: new Set() };
  const named = whole || calls.size > mostNamed ? undefined : calls;
  const query = new URLSearchParams(address.query);
  for (const part of ["header", "health", "timeline", "detail"]) query.append("part", part);
  if (whole || setup) query.append("part", "setup");
  if (named) for (const id of named.size ? named : ["none"]) query.append("call", id);
  const { generation } = address;
  const next = await load(`/?${query}`);
  if (!next) {
    // The stream does not repeat its messages, so the whole page is requested again later.
    wanted.whole = true;
    setTimeout(() => void ask({}), 2_000);
    return false;
  }
  if (generation === address.generation) show(next, named);
  else wanted.whole = true;
  // Waits four times as long as the update took, so that the page responds to the user during a burst of changes.
  // Reading the height forces the layout, so that its time is included.
  const took = the("#calls").offsetHeight && performance.now() - loadedAt;
  await new Promise((resolve) => setTimeout(resolve, 50 + 4 * took));
  return true;
}
