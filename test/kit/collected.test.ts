import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { collected, linesOf, outputFrom } from "./collected.js";
import { settled } from "./settled.js";

test("a character whose bytes arrive in two chunks is not damaged", async () => {
  const [one, other] = [new PassThrough(), new PassThrough()];
  const text = collected(one, other);
  const euro = Buffer.from("€");
  one.write(euro.subarray(0, 1));
  await settled();
  other.write(euro.subarray(0, 2));
  await settled();
  one.write(euro.subarray(1));
  await settled();
  other.write(euro.subarray(2));
  await settled();
  expect(text()).toBe("€€");
});

test("a line without its end is not a whole line", () => {
  expect(linesOf("")).toEqual([]);
  expect(linesOf('{"a":1}\n{"b"')).toEqual(['{"a":1}']);
  expect(linesOf('{"a":1}\n\n')).toEqual(['{"a":1}', ""]);
});

test("the output of a process is copied as it is at that time", async () => {
  const child = { stdout: new PassThrough(), stderr: new PassThrough() };
  const output = outputFrom(child);
  child.stdout.write("a");
  await settled();
  const copy = { ...output };
  child.stdout.write("b");
  child.stderr.write("c");
  await settled();
  expect([copy, { ...output }]).toEqual([
    { stdout: "a", stderr: "" },
    { stdout: "ab", stderr: "c" },
  ]);
});
