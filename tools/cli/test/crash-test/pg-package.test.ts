import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { databaseServer } from "../../src/crash-test/databases/postgres.js";
import { newFile } from "../support.js";

test("a pg of the current folder that throws while it is loaded is not reported as missing", async () => {
  const folder = newFile("app");
  const pg = join(folder, "node_modules/pg");
  mkdirSync(pg, { recursive: true });
  writeFileSync(join(pg, "package.json"), '{ "main": "./index.cjs" }');
  writeFileSync(join(pg, "index.cjs"), 'throw new Error("libpq was not found");');
  vi.spyOn(process, "cwd").mockReturnValue(folder);
  onTestFinished(() => void vi.restoreAllMocks());

  const url = new URL("postgres://127.0.0.1:9/app");
  const server = databaseServer({ name: "DATABASE_URL", url, kind: "postgres" }, true, () => {});
  await expect(server).rejects.toThrow(/^libpq was not found$/);
});
