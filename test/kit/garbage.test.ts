import { expect, test } from "vitest";
import { remaining } from "./garbage.js";

const references = (objects: readonly object[]) => objects.map((one) => new WeakRef(one));

test("objects that the code holds remain, and no others", async () => {
  const held = [{}, {}];
  const left = await remaining([...references(held), ...references([{}, {}, {}])], held.length);
  expect(left).toBe(held.length);
});
