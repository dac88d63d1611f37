import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { npx } from "@svc-webhooks/kit/npx";
import { run, type Ended } from "@svc-webhooks/kit/programs";
import { ends } from "@svc-webhooks/kit/sized";
import { compile, settings } from "./compile.js";
import { nodeEntries, packWorkspace } from "./packed.js";

// The first version is the lowest that `engines` allows. Node requires ES modules from 20.19 and 22.12.
const versions = ends(["20.12.0", "20.19.0", "22.0.0", "22.12.0", "24"]);

/** Without `require()` of ES modules, which Nest 12 needs in a CommonJS app. */
const cannotRequireEsm = new Set(["20.12.0", "22.0.0"]);

const { consumer } = await packWorkspace();

beforeAll(() => {
  const outDir = join(consumer, "commonjs/dist");
  expect(compile(consumer, ["commonjs/service.ts"], { ...settings.node10, outDir })).toEqual([]);
  expect(
    compile(consumer, ["service.ts"], { ...settings.nodenext, outDir: join(consumer, "dist") }),
  ).toEqual([]);
});

describe.each(versions)("on Node %s", (version) => {
  const entries = nodeEntries.filter(
    (entry) => !entry.endsWith("/nest") || !cannotRequireEsm.has(version),
  );
  let node: (args: readonly string[]) => Promise<Ended>;

  beforeAll(async () => {
    const args = ["--yes", "--package", `node@${version}`, "node", "--print", "process.execPath"];
    const { stdout } = await npx(args, { cwd: consumer });
    node = (given) => run(stdout.trim(), given, { cwd: consumer });
    expect((await node(["--version"])).stdout).toContain(`v${version}`);
  });

  test.each([
    { what: "a CommonJS service", args: ["commonjs/dist/service.js"], lines: 8 },
    { what: "an ESM service", args: ["dist/service.js"], lines: 7 },
    {
      what: "all entries, in both formats",
      args: ["entries.cjs", ...entries],
      lines: entries.length,
    },
    {
      what: "the command line",
      args: ["node_modules/@svc-webhooks/cli/bin/svc-webhooks.js", "sandbox", "--assumptions"],
      lines: 56,
    },
    { what: "two copies of the core", args: ["two-copies.mjs"], lines: 12 },
  ])("runs $what", async ({ args, lines }) => {
    const { exitCode, stdout, stderr } = await node(args);
    expect(stderr).toBe("");
    expect(stdout.trimEnd().split("\n")).toHaveLength(lines);
    expect(exitCode).toBe(0);
  });

  test("keeps a sandbox's data with node:sqlite, or names the package that it needs", async () => {
    const file = join(consumer, `data-${version}.db`);
    const script = `import { createSandbox } from "@svc-webhooks/sandbox";
      await createSandbox({ data: process.argv[1] }).close();`;
    const { exitCode, stderr } = await node(["--input-type=module", "-e", script, file]);
    const hasSqlite = version === "24";
    expect(stderr).toMatch(hasSqlite ? /^$/ : /Run `npm install @photostructure\/sqlite@\^\d/);
    expect([exitCode === 0, existsSync(file)]).toEqual([hasSqlite, hasSqlite]);
  });
});
