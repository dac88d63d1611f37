import type { Tables } from "./table.js";

/** Returns the newest time of all calls, events, attempts and steps of sends, in epoch milliseconds, or 0. */
export function newestTime({ calls, sends, events, deliveries }: Tables): number {
  let newest = 0;
  const note = (at = 0) => {
    newest = Math.max(newest, at);
  };
  for (const { at } of calls.all()) note(at);
  for (const { history } of sends.all()) note(history.at(-1)?.at);
  for (const { at } of events.all()) note(at);
  for (const { attempts } of deliveries.all()) note(attempts.at(-1)?.startedAt);
  return newest;
}
