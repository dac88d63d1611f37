import type { Journal } from "./journal.js";
import type { AttemptRecord } from "./records.js";
import type { Kind } from "./table.js";
import { newMaps, type Maps } from "./tables.js";

/** Loads a journal's records, and adds to each delivery its body and attempts, which have separate records there. */
export function load(journal: Journal): Maps {
  const maps = newMaps();
  const bodies = new Map<string, Uint8Array>();
  const attempts: { readonly delivery: string; readonly value: AttemptRecord }[] = [];
  for (const { kind, id, value } of journal.load()) {
    if (kind === "body") bodies.set(id, value as Uint8Array);
    else if (kind === "attempt") {
      attempts.push({ delivery: id.split(" ")[0] ?? "", value: value as AttemptRecord });
    } else maps[kind as Kind]?.set(id, value as never);
  }
  for (const [id, delivery] of maps.delivery) {
    const body = bodies.get(id) ?? new Uint8Array();
    maps.delivery.set(id, { ...delivery, body, attempts: [] });
  }
  for (const { delivery, value } of attempts.toSorted((a, b) => a.value.n - b.value.n)) {
    maps.delivery.get(delivery)?.attempts.push(value);
  }
  return maps;
}
