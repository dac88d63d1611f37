import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { adminFile, coreModule } from "./inbox-admin.js";
import { cli, json, newFile, start } from "./support.js";

const ids = async (file: string): Promise<readonly string[]> => {
  const { value } = await json(["inbox", "list", "--admin", file]);
  return (value["data"] as readonly { readonly id: string }[]).map(({ id }) => id);
};

describe("inbox", () => {
  test("stats prints the numbers, and exits with 1 for a dead letter", async () => {
    const file = adminFile();
    const { code, stdout } = await cli(["inbox", "stats", "--admin", file]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ready +1\ndelayed +0\nactive +0\ndead +2\noldest +\d+ s\n/);
    expect(await json(["inbox", "stats", "--admin", file])).toEqual({
      code: 1,
      value: {
        ready: 1,
        delayed: 0,
        active: 0,
        dead: 2,
        oldest_ms: expect.any(Number),
        held_keys: null,
      },
    });
  });

  test.each([
    ["nothing waits", "{ dead: 0 }", 0],
    ["the oldest job is too old", "{ dead: 0, oldestMs: 60_001 }", 1],
    ["the oldest job is not too old", "{ dead: 0, oldestMs: 60_000 }", 0],
    ["a key is held", "{ dead: 0, heldKeys: 1 }", 1],
  ])("stats exits with a code if %s", async (_when, given, expected) => {
    const file = adminFile(
      `inbox.admin.stats = async () => ({ ready: 1, delayed: 0, active: 0, ...${given} });`,
    );
    const { code } = await cli(["inbox", "stats", "--max-age", "1m", "--admin", file]);
    expect(code).toBe(expected);
  });

  test("check prints each problem, and exits with 1 if there is one", async () => {
    const checked = (problems: readonly string[]) =>
      adminFile(`inbox.check = async () => ${JSON.stringify(problems)};`, "inbox");
    const found = checked(["`a` is off.", "Set \u001b[31mb."]);
    const { code, stdout } = await cli(["inbox", "check", "--admin", found]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^- `a` is off\.\n- Set .*b\.\n$/)]);
    expect(stdout).not.toContain("\u001b");
    expect(await json(["inbox", "check", "--admin", found])).toMatchObject({
      code: 1,
      value: { problems: ["`a` is off.", expect.stringContaining("Set ")] },
    });
    const none = await cli(["inbox", "check", "--admin", checked([])]);
    expect(none).toEqual({ code: 0, stdout: "No problem found.\n", stderr: "" });
  });

  test.each([
    ["an admin", "inbox.admin", "", 2, /has no check\. Write: export default inbox;/],
    ["a check without a list", "inbox", "undefined", 1, /`check` of --admin did not return a list/],
    ["a check with other values", "inbox", "[{}]", 1, /`check` of --admin did not return a list/],
  ])("check refuses %s", async (_what, exported, problems, expected, message) => {
    const file = adminFile(`inbox.check = async () => ${problems || "[]"};`, exported);
    const { code, stdout, stderr } = await cli(["inbox", "check", "--admin", file]);
    expect([code, stdout]).toEqual([expected, ""]);
    expect(stderr).toMatch(message);
  });

  test("the other commands accept an inbox too", async () => {
    const file = adminFile("", "inbox");
    expect(await ids(file)).toHaveLength(2);
  });

  test("list prints the dead letters without bodies, on one line each", async () => {
    const file = adminFile();
    const { code, stdout } = await cli(["inbox", "list", "--admin", file]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^id +type +state +attempts +received_at +error/);
    expect(stdout).toMatch(/a\.sent +dead +1 .*no such account/);
    expect(stdout).not.toContain("me@example.com");
    expect(stdout.trimEnd().split("\n")).toHaveLength(3);
    const second = await json(["inbox", "list", "--type=b.sent", "--admin", file]);
    expect(second.value).toMatchObject({ data: [{ type: "b.sent", delivery_id: "dlv_2" }] });
    const after = await json([
      "inbox",
      "list",
      "--after",
      (await ids(file))[0] ?? "",
      "--admin",
      file,
    ]);
    expect(after.value).toMatchObject({ data: [{ delivery_id: "dlv_2" }] });
    const none = await cli(["inbox", "list", "--state=delayed", "--admin", file]);
    expect(none).toEqual({ code: 0, stdout: "No job is delayed.\n", stderr: "" });
  });

  test("list and show print where the events of an intake come from", async () => {
    const file = adminFile(`
      const { createIntake } = await import(${coreModule});
      const intake = createIntake({
        name: "mail",
        store: memoryStore(),
        sources: ["eventbridge"],
        logger: { info() {}, warn() {}, error() {} },
        on: { "*": inbox(() => { throw new PermanentError("no account"); }) },
      });
      await intake.accept({ source: "eventbridge", id: "evt_1", type: "a.sent", body: {} });
      await inbox.run(intake);`);
    const { stdout } = await cli(["inbox", "list", "--admin", file]);
    expect(stdout).toMatch(/^id +type +source +state /);
    expect(stdout).toMatch(/a\.sent +eventbridge +dead +1 .*no account/);
    const { value } = await json(["inbox", "list", "--admin", file]);
    const letters = value["data"] as readonly { readonly id: string; readonly source: unknown }[];
    expect(letters.map(({ source }) => source)).toEqual([null, null, "eventbridge"]);
    const shown = await cli(["inbox", "show", letters[2]?.id ?? "", "--admin", file]);
    expect(shown.stdout).toMatch(/^source +eventbridge$/m);
  });

  test("list prints a job whose data another application has written", async () => {
    const file = adminFile(
      "await inbox.add({ receivedAt: 1e99, type: 5 }); await inbox.run(receiver);",
    );
    const { code, value } = await json(["inbox", "list", "--admin", file]);
    expect(code).toBe(0);
    expect((await cli(["inbox", "list", "--admin", file])).stdout).not.toContain("null");
    expect(value["data"]).toHaveLength(3);
    expect(value).toMatchObject({ data: [{}, {}, { received_at: null }] });
  });

  test("show prints the body only with --body", async () => {
    const file = adminFile();
    const [id = ""] = await ids(file);
    const hidden = await cli(["inbox", "show", id, "--admin", file]);
    expect(hidden.code).toBe(0);
    expect(hidden.stdout).toContain("dlv_1");
    expect(hidden.stdout).not.toContain("me@example.com");
    const shown = await cli(["inbox", "show", id, "--body", "--admin", file]);
    expect(shown.stdout).toContain('"to":"me@example.com"');
    const { value } = await json(["inbox", "show", id, "--body", "--admin", file]);
    const body = Buffer.from(String(value["body"]), "base64").toString();
    expect(JSON.parse(body)).toEqual({ type: "a.sent", to: "me@example.com" });
  });

  test.each([
    [["retry"], /will run again/],
    [["discard", "--reason=test"], /has been removed/],
  ])("%s changes a dead letter only", async ([name = "", ...rest], done) => {
    const file = adminFile();
    const [id = ""] = await ids(file);
    const command = (which: string) => ["inbox", name, which, ...rest, "--admin", file];
    const { code, stdout } = await cli(command(id));
    expect([code, stdout]).toEqual([0, expect.stringMatching(done)]);
    expect(await ids(file)).not.toContain(id);
    const ready = await json(["inbox", "list", "--state=ready", "--admin", file]);
    const [{ id: readyId = "" } = {}] = ready.value["data"] as readonly { readonly id?: string }[];
    const refused = await cli(command(readyId));
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/is ready\. Only dead letters/);
    const missing = await cli(command("no-such"));
    expect(missing.code).toBe(1);
    expect(missing.stderr).toMatch(/No job has the id no-such\. .*svc-webhooks inbox list/);
  });

  test.each([["retry"], ["discard", "--reason=test"]])(
    "%s says so if the queue does not change a dead letter",
    async (name, ...rest) => {
      const file = adminFile(`inbox.admin.${name} = async () => false;`);
      const [id = ""] = await ids(file);
      const { code, stderr } = await cli(["inbox", name, id, ...rest, "--admin", file]);
      expect(code).toBe(1);
      expect(stderr).toContain(`The queue did not change the job ${id}, which is dead.`);
    },
  );

  test("release runs dead letters again, and exits with 1 when too many have failed again", async () => {
    const both = await json(["inbox", "release", "--rate=1000", "--admin", adminFile()]);
    expect(both).toEqual({ code: 0, value: { released: 2, failed_again: 0 } });
    const one = await json([
      "inbox",
      "release",
      "--rate=1000",
      "--limit=1",
      "--admin",
      adminFile(),
    ]);
    expect(one.value).toEqual({ released: 1, failed_again: 0 });
    const dies = adminFile("inbox.admin.release = async () => ({ released: 3, failedAgain: 2 });");
    const stopped = await cli(["inbox", "release", "--rate=1", "--stop-after=2", "--admin", dies]);
    expect([stopped.code, stopped.stdout]).toEqual([1, "3 released, 2 failed again.\n"]);
  });

  test("ends although the module keeps the process alive", async () => {
    const file = adminFile("setInterval(() => {}, 1_000);");
    const { ended } = start(["inbox", "stats", "--json", "--admin", file]);
    const { code, stdout, stderr } = await ended;
    expect([code, stderr]).toEqual([1, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ dead: 2 });
  });

  test.each([
    ["a file that does not exist", "", 2, /does not exist\. .*export default inbox;/],
    [
      "a module that throws",
      'throw new Error("no database");',
      1,
      /cannot be imported: no database/,
    ],
    [
      "another default export",
      "export default {};",
      2,
      /stats, list, get, retry, discard, release/,
    ],
    [
      "an admin whose stats are no numbers",
      `const no = async () => ({}); export default { stats: no, list: no, get: no, retry: no, discard: no, release: no };`,
      1,
      /did not return the number of ready jobs/,
    ],
    [
      "an option that the queue refuses",
      `import { ConfigError } from ${coreModule};
       const no = () => { throw new ConfigError("invalid_option", "after", "\`after\` is wrong."); };
       export default { stats: no, list: no, get: no, retry: no, discard: no, release: no };`,
      2,
      /`after` is wrong\./,
    ],
    [
      "a queue that fails",
      `const fail = async () => { throw new Error("ECONNREFUSED.."); };
       export default { stats: fail, list: fail, get: fail, retry: fail, discard: fail, release: fail };`,
      1,
      /failed: ECONNREFUSED\. Check that its server runs/,
    ],
  ])("%s is named with the fix", async (_what, text, expected, message) => {
    const file = newFile("admin.mjs");
    if (text) writeFileSync(file, text);
    const { code, stdout, stderr } = await cli(["inbox", "stats", "--admin", file]);
    expect([code, stdout]).toEqual([expected, ""]);
    expect(stderr).toMatch(/^svc-webhooks inbox stats: [^\n]+\n$/);
    expect(stderr).toMatch(message);
  });

  test.each([
    [["stats", "--max-age=5"], /--max-age is 5, which is not a duration/],
    [["list", "--limit=0"], /--limit must be a whole number/],
    [["list", "--state=done"], /--state cannot be done/],
    [["release", "--rate=0"], /--rate must be a whole number from 1 to 1000/],
    [["release"], /--rate is missing/],
    [["discard", "1"], /--reason is missing/],
  ])("%j is wrong usage", async (args, message) => {
    const { code, stderr } = await cli(["inbox", ...args, "--admin", "/no/file"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});
