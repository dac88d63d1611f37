import { spawnSync } from "node:child_process";
import { testLinux } from "@svc-webhooks/kit/systems";
import { expect, test } from "vitest";
import { isDead, ownerPattern, ownOwner } from "../../src/crash-test/databases/owner.js";

/** Replaces parts of this process's name as an owner. */
function ownerWith(parts: {
  readonly machine?: string;
  readonly pid?: number;
  readonly start?: string;
}) {
  const [machine = "", pid = "", start = ""] = ownOwner().split("_");
  return [parts.machine ?? machine, parts.pid?.toString(36) ?? pid, parts.start ?? start].join("_");
}

test("a process that runs is not dead", () => {
  expect(ownOwner()).toMatch(new RegExp(`^${ownerPattern}$`));
  expect(isDead(ownOwner())).toBe(false);
});

test("a process that has exited is dead", () => {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  expect(isDead(ownerWith({ pid }))).toBe(true);
});

test("a process of another machine is not dead, because it cannot be known", () => {
  const { pid } = spawnSync(process.execPath, ["--version"]);
  expect(isDead(ownerWith({ pid, machine: "000000" }))).toBe(false);
});

testLinux("a process whose id another one has is dead", () => {
  expect(isDead(ownerWith({ start: "1" }))).toBe(true);
});
