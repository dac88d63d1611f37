import { createClient } from "@svc-webhooks/client";
import { createSandbox } from "@svc-webhooks/sandbox";
import { afterAll, expect, test, vi } from "vitest";
import { codeBlocks, compileBlocks, readmes, sources, textOf, type CodeBlock } from "./readme.js";
import { publicPackages } from "@svc-webhooks/kit/workspace";

// The module exists only on Workers.
vi.mock("cloudflare:workers", () => ({ DurableObject: Object }));

const files = [...readmes(), ...sources()];
const blocks = files.flatMap(codeBlocks);

/**
 * Returns whether a block runs here: `firebase-functions` is installed only for
 * `test/frameworks/frameworks.matrix.ts`.
 */
const isInstalledHere = ({ code }: CodeBlock) => !code.includes('"firebase-functions/');

const compiled = blocks.filter(isInstalledHere);
const { errorsIn, otherErrors, run } = await compileBlocks(compiled);

/**
 * Returns whether a block runs on Node: `@svc-webhooks/cloudflare` imports `cloudflare:workers`, which only
 * Workers have.
 */
const runsHere = ({ code }: CodeBlock) => !code.includes('"@svc-webhooks/cloudflare"');

/** The service that the blocks call, with a failed delivery. */
const sandbox = createSandbox({ assumptions: { "A-06": "allow", "A-09": "none" } });
afterAll(() => sandbox.close());
const env = { SVC_API_KEY: "svc_test", SVC_BASE_URL: (await sandbox.listen(0)).url };
const { domains, webhookEndpoints } = createClient({
  apiKey: env.SVC_API_KEY,
  baseUrl: env.SVC_BASE_URL,
});
const { webhook_endpoint: endpoint } = await webhookEndpoints.create({
  url: "http://127.0.0.1:9/webhooks",
  event_types: ["domain.updated"],
});
await domains.verify((await domains.create({ domain_name: "example.test" })).domain_id);

test.each(compiled)("$name compiles", (block) => {
  expect(errorsIn(block)).toEqual([]);
});

/** Returns whether a line is logged by a receiver, which logs each delivery that it refuses. */
const isLogged = (line: string) => line.startsWith("svc-webhooks ");

const showsTests = ({ file }: CodeBlock) =>
  file.startsWith("packages/testing/") || file === "docs/test-your-handler.md";

test.each(compiled.filter(runsHere))("$name runs without an error", async (block) => {
  const { exitCode, stdout, stderr } = await run(block, {
    ...env,
    ENDPOINT_ID: endpoint.webhook_endpoint_id,
  });
  const others = stderr.split("\n").filter((line) => !isLogged(line));
  expect({ exitCode, others }).toEqual({ exitCode: 0, others: [""] });
  // Readers copy examples of tests into their own, where the line of a refused delivery would resemble a
  // failure.
  const logged = `${stdout}\n${stderr}`.split("\n").filter(isLogged);
  if (showsTests(block)) expect(logged).toEqual([]);
});

test("the files around the blocks compile", () => {
  expect(otherErrors).toEqual([]);
});

// The pattern would miss a block that is indented or fenced differently.
test("every block of TypeScript or JavaScript is found", () => {
  const fences = files.flatMap((file) =>
    Array.from(
      textOf(file).matchAll(/^.*(?:`{3,}|~{3,}) *(?:[cm]?[tj]sx?|typescript|javascript)\b/gim),
    ),
  );
  expect(fences.length).toBeGreaterThan(0);
  expect(blocks).toHaveLength(fences.length);
});

/** The public functions as `[package, entry, function]`. Unlike classes, their names start in lower case. */
const functions = await Promise.all(
  publicPackages.flatMap(({ folder, entries }) =>
    entries.map(async (entry) => {
      const exported = Object.entries((await import(entry)) as Readonly<Record<string, unknown>>);
      return exported
        .filter(([name, value]) => typeof value === "function" && /^[a-z]/.test(name))
        .map(([name]) => [folder, entry, name] as const);
    }),
  ),
);

/** Returns the function whose doc comment contains a block. */
function documentedBy({ file, line, code }: CodeBlock): string | undefined {
  const end = line + code.split("\n").length - 1;
  const text = textOf(file).split("\n").slice(end).join("\n");
  return /^export (?:async )?(?:function|const) (\w+)/m.exec(text)?.[1];
}

test.each(functions.flat())("%s documents %s › %s with an @example", (folder, entry, name) => {
  const examples = blocks.filter(
    (block) => block.file.startsWith(`${folder}/src/`) && documentedBy(block) === name,
  );
  const importing = new RegExp(`^import {[^}]*\\b${name}\\b[^}]*} from "${entry}";`, "m");
  expect(examples.filter(({ code }) => importing.test(code))).not.toEqual([]);
});
