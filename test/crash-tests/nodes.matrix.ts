import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { npx } from "@svc-webhooks/kit/npx";
import { root, run } from "@svc-webhooks/kit/programs";
import { ends, sized } from "@svc-webhooks/kit/sized";
import ts from "typescript5";
import { beforeAll, expect, test } from "vitest";
import { packWorkspace } from "../package/packed.js";
import { correct, mistakes } from "./handlers.js";
import { nameOf } from "./in-process.js";

const { consumer } = await packWorkspace();
/** The reports, by the version of Node that ran the handlers. */
const outputs = new Map<string, string>();

beforeAll(() => {
  const folder = join(root, "test/crash-tests");
  cpSync(join(folder, "nodes"), consumer, { recursive: true });
  for (const name of ["handlers", "in-process"]) {
    const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
    const source = readFileSync(join(folder, `${name}.ts`), "utf8");
    const { outputText } = ts.transpileModule(source, { compilerOptions });
    writeFileSync(join(consumer, `${name}.js`), outputText);
  }
  symlinkSync(join(root, "node_modules/pg"), join(consumer, "node_modules/pg"), "junction");
});

/** Runs only each n-th handler: `planted.slow.ts` runs all of them on the Node of the tests. */
const step = sized(12, 1);

async function runHandlers(version: string, mode: "once" | "repeat") {
  const args = ["--yes", "--package", `node@${version}`, "node", "--print", "process.execPath"];
  const { stdout: program } = await npx(args, { cwd: consumer });
  const { exitCode, stdout, stderr } = await run(
    program.trim(),
    ["all-handlers.mjs", mode, String(step)],
    {
      cwd: consumer,
    },
  );
  outputs.set(version, stdout);
  return { exitCode, stderr };
}

const succeeded = { exitCode: 0, stderr: "" };

const versions = ends(["20.12.0", "22.12.0", "24"]);

test.each(versions.slice(0, -1))("on Node %s, the handlers have reports", async (version) => {
  expect(await runHandlers(version, "once")).toEqual(succeeded);
});

// The reports of all versions must be equal, so repeating them on one is enough.
test("on Node 24, a second run has the same reports, and each finding repeats", async () => {
  expect(await runHandlers("24", "repeat")).toEqual(succeeded);
});

test("the reports are equal, byte for byte, on all versions of Node", () => {
  expect([...outputs.keys()]).toEqual(versions);
  const [first = ""] = outputs.values();
  for (const output of outputs.values()) expect(output).toBe(first);
  const reports = JSON.parse(first) as readonly {
    readonly name: string;
    readonly report: { readonly findings: readonly Parameters<typeof nameOf>[0][] };
  }[];
  for (const { name, finding } of [...mistakes, ...correct].filter(
    (_, index) => index % step === 0,
  )) {
    const { findings = [] } = reports.find((one) => one.name === name)?.report ?? {};
    if (finding === undefined) expect(findings).toEqual([]);
    else expect(findings.map(nameOf)).toContain(finding);
  }
});
