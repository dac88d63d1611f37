import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { npx, npxStart } from "@svc-webhooks/kit/npx";
import { outsideDirectory } from "@svc-webhooks/kit/programs";
import { ends } from "@svc-webhooks/kit/sized";
import { describe, expect, test } from "vitest";
import { casesOver } from "./sqlite-drivers.js";

/** The arguments of npx that run Node of a version, downloaded if necessary. */
const nodeOf = (version: string) => ["--yes", "--package", `node@${version}`, "node"] as const;

// Node includes SQLite from 22.13, without a flag.
test.each(ends(["22.13.0", "24", "26"]))(
  "the SQLite store and inbox pass their contracts over node:sqlite on Node %s",
  async (version) => {
    const command = [...npxStart, ...nodeOf(version), "--test"];
    const { exitCode, passed, all, output } = await casesOver({ driver: "node:sqlite", command });
    expect(passed === all ? "" : output).toBe("");
    expect(exitCode).toBe(0);
  },
);

describe("the SQLite store over better-sqlite3", () => {
  // Version 13 contains its binaries and needs Node 22 or newer. Version 12 compiles them where none can be downloaded.
  test("passes its contract", async () => {
    const folder = join(outsideDirectory(), "better-sqlite3");
    mkdirSync(folder);
    const options = ["--no-audit", "--no-fund", "--no-package-lock", "--prefix", folder];
    const install = ["npm", "install", ...options, "better-sqlite3@13.2.0"];
    const { exitCode, stderr } = await npx([...nodeOf("24").slice(0, -1), ...install], {
      cwd: folder,
    });
    expect([exitCode, exitCode === 0 ? "" : stderr]).toEqual([0, ""]);
    const result = await casesOver({
      driver: "better-sqlite3",
      command: [...npxStart, ...nodeOf("24"), "--test"],
      env: { BETTER_SQLITE3: join(folder, "node_modules/better-sqlite3/lib/index.js") },
    });
    expect(result.passed === result.all ? "" : result.output).toBe("");
    expect(result.exitCode).toBe(0);
  });
});
