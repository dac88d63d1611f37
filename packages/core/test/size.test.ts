import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };

const root = fileURLToPath(new URL("..", import.meta.url));

/** Everything the core exports, as a worker would ship it. */
async function bundleForTheWeb(): Promise<string> {
  const bundle = await rolldown({
    input: `${root}dist/index.js`,
    resolve: { conditionNames: ["workerd", "worker", "browser", "import"] },
    platform: "browser",
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  expect(output).toHaveLength(1);
  return output[0].code;
}

test("the whole core is at most 7.3 KiB for a worker, minified and gzipped", async () => {
  const { length } = gzipSync(await bundleForTheWeb(), { level: 9 });
  // Only ever lower this, or write the reason here. It was 6,656 before schemas, parking, `forget`,
  // `drain` and `onStoreError` came in.
  expect(length).toBeLessThanOrEqual(7_475);
});

test("for a worker there is nothing of Node in it", async () => {
  const code = await bundleForTheWeb();
  expect(code).not.toMatch(/node:|\bBuffer\b|\bprocess\.|\brequire\b/);
});

test("only the Node HMAC imports from Node", () => {
  const sources = readdirSync(`${root}src`, { recursive: true, encoding: "utf8" });
  const importing = sources
    .filter((file) => file.endsWith(".ts"))
    .filter((file) => /from "node:/.test(readFileSync(`${root}src/${file}`, "utf8")));
  expect(importing).toEqual(["hmac/node.ts"]);
});

test("the core depends on nothing", () => {
  expect(manifest).not.toHaveProperty("dependencies");
  expect(manifest).not.toHaveProperty("peerDependencies");
  expect(manifest).not.toHaveProperty("optionalDependencies");
});
