import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { format, resolveConfig } from "prettier";
import { describeRequiring } from "@svc-webhooks/kit/requiring";
import { expect, test } from "vitest";
import { createSandbox } from "@svc-webhooks/sandbox";

const path = fileURLToPath(new URL("../README.md", import.meta.url));
const page = readFileSync(path, "utf8");

const sandbox = createSandbox();

test("README lists all assumptions (npx vitest run tools/sandbox/test/readme.test.ts -u writes them)", async () => {
  const rows = sandbox.assumptions().map(({ id, text, default: first, alternatives }) => {
    const others = alternatives.map((word) => `\`${word}\``).join(", ");
    return `| ${id} | ${text} | \`${first}\` | ${others} |`;
  });
  const table = [
    "| id | assumption | default | alternatives |",
    "| --- | --- | --- | --- |",
    ...rows,
  ];
  const written = page.replace(/^\| id .*\|\n(?:\|.*\|\n)+/m, `${table.join("\n")}\n`);
  const options = await resolveConfig(path);
  await expect(await format(written, { ...options, filepath: path })).toMatchFileSnapshot(path);
});

const hasCurl = spawnSync("curl", ["--version"]).status === 0;

describeRequiring("curl", hasCurl)("the tour with curl", () => {
  test("each command succeeds", async () => {
    const { url, close } = await sandbox.listen(0);
    const commands = Array.from(page.matchAll(/```sh\n([^]*?)```/g), ([, block = ""]) => block)
      .filter((block) => block.includes("svc "))
      .join("\n")
      .replace("http://127.0.0.1:4010", url)
      // What the reader copies from a response.
      .replaceAll(/(dom|we|send|evt)_…/g, "$(last $1)")
      .replace(/^svc\(\).*$/m, (line) =>
        line
          .replace("curl -sS", "curl -sS --fail-with-body")
          .replace('"$@"; }', '"$@" | tee -a "$OUT"; }'),
      );
    const script = `set -euo pipefail; OUT=$(mktemp)\nlast() { grep -o "$1_[0-9A-Za-z]*" "$OUT" | tail -1; }\n${commands}`;
    const { stdout } = await promisify(execFile)("bash", ["-c", script]);
    expect(stdout).toMatch(
      /"status":"verified".*"secret":"whsec_.*"status":"accepted".*"status":"archived"/s,
    );
    await close();
    await sandbox.close();
  });
});
