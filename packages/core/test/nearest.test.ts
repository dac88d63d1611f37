import { expect, test } from "vitest";
import { nearest } from "../src/lib/nearest.js";

test.each<[string, string | undefined]>([
  ["email.snet", "email.sent"],
  ["email.sen", "email.sent"],
  ["EMAIL.SENTT", "email.sent"],
  ["domain.update", "domain.updated"],
  ["contact.created", undefined],
  ["emai", undefined],
  ["", undefined],
])("the name nearest to %j is %j", (name, expected) => {
  expect(nearest(name, ["domain.updated", "email.delivered", "email.sent"])).toBe(expected);
});

test("only the first 64 characters of a name are compared", () => {
  const long = "a".repeat(1_000_000);
  expect(nearest(long, ["b", "a".repeat(64)])).toBe("a".repeat(64));
  expect(nearest(`${"a".repeat(64)}b`, [long])).toBe(long);
});
