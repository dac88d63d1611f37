import type { Change } from "./journal.js";
import type { Copies, Kind, Kinds } from "./table.js";

/** Copies plain data deeply. The copy shares byte arrays with the original, because they never change. */
export function copyOf<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(copyOf) as Value;
  const members = Object.entries(value).map(([name, member]) => [name, copyOf(member)]);
  return Object.fromEntries(members) as Value;
}

/** Copies all records, except checkpoints, in the order of their creation. */
export function copiesOf(maps: {
  readonly [Name in Kind]: ReadonlyMap<string, Kinds[Name]>;
}): Copies {
  const { checkpoint: _checkpoint, ...copied } = maps;
  return Object.fromEntries(
    Object.entries(copied).map(([kind, records]) => [kind, copyOf([...records.values()])]),
  ) as unknown as Copies;
}

/**
 * Yields a change for each record, and further ones for each delivery's body and attempts, which a journal stores as
 * separate records.
 */
export function* changesOf(copies: Copies): Iterable<Change> {
  for (const [kind, records] of Object.entries(copies))
    for (const value of records) yield { kind, id: value.id, value };
  for (const { id, body, attempts } of copies.delivery) {
    yield { kind: "body", id, value: body };
    for (const value of attempts) yield { kind: "attempt", id: `${id} ${value.n}`, value };
  }
}
