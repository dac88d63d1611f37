import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundled } from "@svc-webhooks/kit/launch";
import { outsideDirectory, run } from "@svc-webhooks/kit/programs";
import { workerd } from "@svc-webhooks/kit/workers";
import { expect, onTestFinished, test } from "vitest";
import { senderVerdicts, verdicts } from "./verdicts.js";

const require = createRequire(import.meta.url);

// The bundle has neither Node's HMAC nor anything else of Node.
const bundle = await bundled(fileURLToPath(new URL("verdicts.ts", import.meta.url)), "browser");
const code = `${bundle}\nconst all = async () => [...(await verdicts()), ...(await senderVerdicts())];`;
const cwd = outsideDirectory();
const program = join(cwd, "verdicts.mjs");
writeFileSync(program, `${code}\nconsole.log(JSON.stringify(await all()));`);

const expected = [
  "old_secret",
  "reserialized_json",
  "unknown",
  "newline_removed",
  "body_changed",
  "sha1_header",
];

test("explains signatures with the HMAC of Node", async () => {
  expect([...(await verdicts()), ...(await senderVerdicts())]).toEqual(expected);
});

test.each([
  ["Node, with WebCrypto alone", [process.execPath]],
  ["Bun", [require.resolve("bun/bin/bun.exe")]],
  ["Deno", [process.execPath, require.resolve("deno/bin.cjs"), "run", "--no-remote"]],
])("explains signatures on %s", async (_runtime, [command = "", ...args]) => {
  const { exitCode, stdout, stderr } = await run(command, [...args, program], { cwd });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(JSON.parse(stdout)).toEqual(expected);
});

test("explains signatures in a Worker", async () => {
  const worker = workerd(
    `${code}\nexport default { fetch: async () => Response.json(await all()) };`,
  );
  onTestFinished(() => worker.dispose());
  const response = await worker.dispatchFetch("http://localhost/");
  expect(await response.json()).toEqual(expected);
});
