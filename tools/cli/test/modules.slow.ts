import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { newFile, start } from "./support.js";

/** The ways to export `value`, which the modules declare. */
const forms: readonly (readonly [string, string, string])[] = [
  ["an ES module", "mjs", "export default value;"],
  ["an object that an ES module exports", "mjs", "export default { value };"],
  ["a name of an ES module", "mjs", "export { value as anything };"],
  ["module.exports", "cjs", "module.exports = value;"],
  ["an object in module.exports", "cjs", "module.exports = { value };"],
  ["exports.default, compiled from an ES module", "cjs", "exports.default = value;"],
  ["a name, compiled from an ES module", "cjs", "exports.anything = value;"],
];

function moduleOf(value: string, extension: string, exported: string): string {
  const file = newFile(`module.${extension}`);
  // A compiler adds this line.
  const isCompiled = exported.startsWith("exports.");
  const mark = 'Object.defineProperty(exports, "__esModule", { value: true });\n';
  writeFileSync(file, `${isCompiled ? mark : ""}const value = ${value};\n${exported}\n`);
  return file;
}

const inbox = `{
  check: async () => [],
  admin: {
    stats: async () => ({ ready: 0, delayed: 0, active: 0, dead: 0 }),
    async *list() {}, get: async () => undefined,
    retry() {}, discard() {}, release() {},
  },
}`;
const receiver = "{ peek: async (all) => all.map(() => undefined) }";
const schemas = '{ "a.sent": { "~standard": { validate: (value) => ({ value }) } } }';

const captured = `${JSON.stringify({
  at: "2026-11-25T10:00:00.000Z",
  method: "POST",
  path: "/",
  headers: [],
  body: Buffer.from('{"type":"a.sent"}').toString("base64"),
  verdict: "genuine",
})}\n`;

/** Returns the words of a command, with the file that `drift` reads. */
function wordsOf(name: string): string[] {
  if (name !== "drift") return name.split(" ");
  const file = newFile("deliveries.jsonl");
  writeFileSync(file, captured);
  return [name, file];
}

describe.each(forms)("%s", (_what, extension, exported) => {
  test.each([
    ["inbox check", "--admin", inbox],
    ["inbox stats", "--admin", inbox],
    ["drift", "--schemas", schemas],
  ])("is used by %s", async (name, option, value) => {
    const words = wordsOf(name);
    const { code, stderr } = await start([...words, option, moduleOf(value, extension, exported)])
      .ended;
    expect(stderr).not.toMatch(/export|import/);
    expect(code).toBe(0);
  });

  test("is used by reconcile", async () => {
    const file = (value: string) => moduleOf(value, extension, exported);
    const options = ["--receiver", file(receiver), "--admin", file(inbox)];
    const words = ["reconcile", "--endpoint=we_1", "--base-url=http://127.0.0.1:9/", ...options];
    const { stderr } = await start(words).ended;
    expect(stderr).toContain("Nothing is listening at http://127.0.0.1:9/");
  });
});

test("the export of the documented name is used if there are several", async () => {
  const file = moduleOf(inbox, "mjs", "export const inbox = value, other = { ...value };");
  expect((await start(["inbox", "check", "--admin", file]).ended).code).toBe(0);
});

test("several exports without a name that decides are refused", async () => {
  const file = moduleOf(inbox, "mjs", "export const a = value, b = { ...value };");
  const { code, stderr } = await start(["inbox", "check", "--admin", file]).ended;
  expect(stderr).toContain("has no check. Write: export default inbox;");
  expect(code).toBe(2);
});

describe("a module that ends the process", () => {
  const file = (text: string) => {
    const path = newFile("exit.mjs");
    writeFileSync(path, text);
    return path;
  };
  test.each([
    ["reconcile", "--receiver", ["--endpoint=we_1"]],
    ["drift", "--schemas", []],
    ["inbox stats", "--admin", []],
    ["inbox release", "--admin", ["--rate=1"]],
  ])("is not a success of %s", async (name, option, options) => {
    const path = file("process.exit(0);");
    const words = [...wordsOf(name), ...options, option, path, "--json"];
    const { code, stdout, stderr } = await start(words).ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({
      error: {
        code: "wrong_usage",
        message: `${option} ${path} ended the process, so the command has no result.`,
      },
    });
  });

  test.each([
    ["in a timer", "setTimeout(() => process.exit(0), 1); await new Promise(() => {});"],
    ["with another code", "process.exit(1);"],
    [
      "after an uncaught error",
      'process.on("uncaughtException", () => process.exit(0)); setTimeout(() => { throw new Error("a"); }); await new Promise(() => {});',
    ],
    [
      "in the function that the command calls",
      `export default { ...${inbox}, check: () => process.exit(0) };`,
    ],
  ])("is reported %s", async (_when, text) => {
    const { code, stdout, stderr } = await start(["inbox", "check", "--admin", file(text)]).ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(
      /^svc-webhooks inbox check: --admin \S+exit\.mjs ended the process, .+ process\.exit\(\)/,
    );
  });

  test("keeps the code of Ctrl-C", async () => {
    const path = file(
      'process.on("SIGINT", () => process.exit(0)); console.log("loaded"); await new Promise(() => {});',
    );
    const started = start(["inbox", "check", "--admin", path]);
    await started.shows(/loaded/, "stderr");
    expect(await started.interrupt()).toBe(130);
  });

  test("keeps the code and the text of an uncaught error", async () => {
    const path = file(
      'setTimeout(() => { throw new Error("late"); }); await new Promise(() => {});',
    );
    const { code, stderr } = await start(["inbox", "check", "--admin", path]).ended;
    expect(stderr).toMatch(/Error: late/);
    expect(stderr).not.toContain("ended the process");
    expect(code).toBe(1);
  });
});
