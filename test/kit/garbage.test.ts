import { expect, test } from "vitest";
import { remaining } from "./garbage.js";

const references = (objects: readonly object[]) => objects.map((one) => new WeakRef(one));

test("objects that the code holds remain, and no others", async () => {
  const held = [{}, {}];
  expect(await remaining([...references(held), ...references([{}, {}, {}])], 2)).toBe(2);
  expect(await remaining(references(held))).toBe(held.length);
});
