import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { root } from "@svc-webhooks/kit/programs";
import { format, resolveConfig } from "prettier";
import { testPosix } from "@svc-webhooks/kit/systems";
import { senders } from "@svc-webhooks/schemes/senders";
import { expect, test } from "vitest";
import { commands, listed, withoutService } from "../src/commands.js";
import { cli, newFile, secret } from "./support.js";

// To update the pages, run `npx vitest run tools/cli/test/docs.test.ts -u`.

const fileOf = (name: string) => `${name.replaceAll(" ", "-")}.md`;

async function formatted(path: string, text: string): Promise<readonly [string, string]> {
  const file = join(root, path);
  const options = await resolveConfig(file);
  return [await format(text, { ...options, filepath: file }), file];
}

const helpOf = async (name: string) => (await cli([...name.split(" "), "--help"])).stdout;

const option = /^ {2}-.*\n(?: {4,}.*\n)*/gm;
const wordsOf = (text: string) => text.replaceAll(/\s+/g, " ");

/** Returns a block with the help of a command, without the options of another command and without the exit codes. */
async function blockOf(name: string, other: string): Promise<string> {
  const common = new Set((await helpOf(other)).match(option)?.map(wordsOf));
  const help = (await helpOf(name))
    .replaceAll(option, (entry) => (common.has(wordsOf(entry)) ? "" : entry))
    .replace(/Options:\n\n|\nExit codes:.*\n/g, "");
  return fenced(help);
}

const fenced = (text: string) => `\n\`\`\`text\n${text}\`\`\`\n`;

const own = commands.filter(({ name }) => !name.startsWith("service "));

test.each(own)("docs/cli has the help of $name", async ({ name }) => {
  const path = `docs/cli/${fileOf(name)}`;
  // The text after the help is hand-written.
  const page = existsSync(join(root, path))
    ? readFileSync(join(root, path), "utf8")
    : `# svc-webhooks ${name}\n${fenced("")}\n[All commands](README.md)\n`;
  const block = await blockOf(name, "completions");
  const text = page.replace(/^\n```text\n[^]*?^```\n/m, () => block);
  const [written, file] = await formatted(path, text);
  await expect(written).toMatchFileSnapshot(file);
});

test("docs/cli/service.md has the help of the commands of the service", async () => {
  // This command has only the options that all of them have.
  const shortest = "service event-types list";
  const options = (await helpOf(shortest)).match(option) ?? [];
  const sections = commands
    .filter((command) => !own.includes(command))
    .map(async ({ name }) => `\n## ${withoutService(name)}\n${await blockOf(name, shortest)}`);
  const page = readFileSync(join(root, "docs/cli/service.md"), "utf8");
  const [intro = ""] = page.split(/^```text\n/m);
  const text = [`${intro.trim()}\n`, fenced(options.join("")), ...(await Promise.all(sections))];
  const [written, file] = await formatted(
    "docs/cli/service.md",
    `${text.join("")}\n[All commands](README.md)\n`,
  );
  await expect(written).toMatchFileSnapshot(file);
});

test.each([
  ["docs/cli/README.md", ""],
  ["tools/cli/README.md", "https://github.com/svc-webhooks/svc-webhooks/blob/main/docs/cli/"],
])("%s lists all commands", async (page, folder) => {
  const rows = listed.map(
    ({ name, summary }) => `- [\`${name}\`](${folder}${fileOf(name)}): ${summary}\n`,
  );
  const text = readFileSync(join(root, page), "utf8");
  const [written, file] = await formatted(
    page,
    text.replace(/^- \[`dev`\].*\n(?:- .*\n)*/m, () => rows.join("")),
  );
  await expect(written).toMatchFileSnapshot(file);
});

/** Runs the commands of a block in an empty folder, with the linked `svc-webhooks`. Exit codes are ignored. */
async function runBlock(block: string): Promise<string> {
  const path = [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
  const options = { cwd: dirname(newFile()), env: { ...process.env, PATH: path } };
  const { stdout } = await promisify(execFile)("bash", ["-c", `${block}\ntrue`], options);
  return stdout;
}

testPosix("docs/debug-a-signature.md shows what verify --explain prints", async () => {
  const page = readFileSync(join(root, "docs/debug-a-signature.md"), "utf8");
  const [, block = "", shown = ""] = /```sh\n([^]*?)```\n\n```text\n([^]*?)```/.exec(page) ?? [];
  const current = page.replace(shown, await runBlock(block));
  const [written, file] = await formatted("docs/debug-a-signature.md", current);
  await expect(written).toMatchFileSnapshot(file);
});

testPosix("the README's sign and verify agree", async () => {
  const readme = readFileSync(join(root, "tools/cli/README.md"), "utf8");
  const [, block = ""] = /```sh\n(export[^]*?)```/.exec(readme) ?? [];
  expect(await runBlock(block.replace("whsec_…", secret))).toBe("The signature is genuine.\n");
});

test("docs/cli/verify.md names every scheme, and every mistake of a sender", () => {
  const page = readFileSync(join(root, "docs/cli/verify.md"), "utf8");
  const folder = join(root, "tools/explain/src/senders");
  const ids = readdirSync(folder).flatMap((file) =>
    Array.from(
      readFileSync(join(folder, file), "utf8").matchAll(/\bid: "(\w+)"/g),
      ([, id = ""]) => id,
    ),
  );
  expect(ids).toContain("sha1_header");
  const [, section = ""] = /^## Other senders\n([^]*)/m.exec(page) ?? [];
  const names = Object.keys(senders);
  expect([...names, ...ids].filter((one) => !section.includes(`\`${one}\``))).toEqual([]);
});
