import { randomBytes } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, test } from "vitest";
import { node, outsideDirectory, root } from "@svc-webhooks/kit/programs";
import { createSandbox, type SandboxOptions } from "@svc-webhooks/sandbox";

const folder = outsideDirectory();
const main = join(root, "packages/sandbox/dist/main.js");
const authorization = "Bearer svc_test";

const post = (path: string, body: object) =>
  new Request(`http://sandbox.test${path}`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json", "idempotency-key": "a" },
    body: JSON.stringify(body),
  });

const email = { from: "a@a.test", to: ["b@b.test"], subject: "s", text: "x".repeat(500) };

/** A file in which a sandbox kept `sends` emails. */
async function written(path: string, sends = 1): Promise<void> {
  const sandbox = createSandbox({ data: path, clock: "manual", log: () => {} });
  for (let n = 0; n < sends; n += 1) {
    const request = post("/v1/emails", email);
    request.headers.set("idempotency-key", String(n));
    expect((await sandbox.fetch(request)).status).toBe(202);
  }
  await sandbox.close();
}

const sql = (path: string, text: string) => {
  const database = new DatabaseSync(path);
  database.exec(text);
  database.close();
};

const unusable: Readonly<Record<string, [(path: string) => unknown, RegExp]>> = {
  "a text": [
    (path) => writeFileSync(path, "Dear diary, this is not a database.\n"),
    /not a database/,
  ],
  "random bytes": [(path) => writeFileSync(path, randomBytes(9_000)), /not a database/],
  "another program's database": [
    (path) => sql(path, "CREATE TABLE notes (text); PRAGMA user_version=1"),
    /database of another program/,
  ],
  "the file of another version": [
    async (path) => {
      await written(path);
      sql(path, "PRAGMA user_version=2");
    },
    /another version/,
  ],
  "the file without its end": [
    async (path) => {
      await written(path, 40);
      truncateSync(path, 20_480);
    },
    /malformed/,
  ],
  "a record that is not JSON": [
    async (path) => {
      await written(path);
      sql(path, "UPDATE record SET value = '{' WHERE kind = 'send'");
    },
    /JSON/,
  ],
};

describe("the data file", () => {
  test.each(Object.entries(unusable))("is refused if it is %s", async (name, [make, reason]) => {
    const path = join(folder, name.replaceAll(/\W/g, "-"));
    await make(path);
    const start = () => createSandbox({ data: path, log: () => {} });
    expect(start).toThrow(reason);
    expect(start).toThrow(`The data file ${path} cannot be used: `);
    expect(start).toThrow(/ Use another path, or remove the file to start empty\.$/);
  });

  const places: Readonly<Record<string, [(path: string) => string, string]>> = {
    "a directory": [
      (path) => {
        mkdirSync(path);
        return path;
      },
      "FILE cannot be used: it is a directory. Use a file in it, such as FILE/sandbox.db.",
    ],
    "a file in no directory": [
      (path) => join(path, "sandbox.db"),
      "FILE cannot be used: there is no directory DIRECTORY. Create the directory first.",
    ],
    "a file in a file": [
      (path) => {
        writeFileSync(path, "");
        return join(path, "sandbox.db");
      },
      "FILE cannot be used: DIRECTORY is not a directory. Use another path.",
    ],
  };

  test.each(Object.entries(places))("is refused with the fix if it is %s", (name, [make, text]) => {
    const path = make(join(folder, `place-${name.replaceAll(/\W/g, "-")}`));
    const expected = text.replaceAll("FILE", path).replaceAll("DIRECTORY", dirname(path));
    expect(() => createSandbox({ data: path })).toThrow(`The data file ${expected}`);
  });

  test("is refused with the fix if it may not be written", async () => {
    const path = join(folder, "read-only");
    writeFileSync(path, "", { mode: 0o444 });
    chmodSync(folder, 0o755);
    // The superuser may write everything.
    const user = process.getuid?.() === 0 ? "process.setegid(65534);process.seteuid(65534);" : "";
    const text = `const { createSandbox } = await import("@svc-webhooks/sandbox");
      ${user}
      createSandbox({ data: process.argv[1] });`;
    const { stderr } = await node(["--input-type=module", "--eval", text, path], { cwd: root });
    expect(stderr).toContain(
      `The data file ${path} cannot be used: this process has no permission to write it. Permit its user to write the file and its directory, or use another path.`,
    );
  });

  test("is not changed if it is another program's", () => {
    const path = join(folder, "notes");
    sql(path, "PRAGMA journal_mode=WAL; CREATE TABLE notes (text)");
    const before = readFileSync(path);
    expect(() => createSandbox({ data: path })).toThrow("the database of another program");
    expect(readFileSync(path)).toEqual(before);
  });

  test("is complete after a stop, without the write-ahead log", async () => {
    const path = join(folder, "moved");
    await written(path);
    copyFileSync(path, `${path}-elsewhere`);
    const sandbox = createSandbox({ data: `${path}-elsewhere`, clock: "manual", log: () => {} });
    const request = post("/v1/emails", email);
    request.headers.set("idempotency-key", "0");
    const [first, second] = [await sandbox.fetch(request.clone()), await sandbox.fetch(request)];
    expect(await first.json()).toEqual(await second.json());
    await sandbox.close();
  });

  test("becomes readable by its owner alone if it was not", async () => {
    const path = join(folder, "readable");
    writeFileSync(path, "", { mode: 0o644 });
    const sandbox = createSandbox({ data: path });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await sandbox.close();
  });

  test("can be read by its owner alone, with the files next to it", async () => {
    const path = join(folder, "private");
    const sandbox = createSandbox({ data: path, log: () => {} });
    await sandbox.fetch(post("/v1/domains", { domain_name: "a.test" }));
    const names = readdirSync(folder).filter((name) => name.startsWith("private"));
    expect(names).toContain("private-wal");
    for (const name of names) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    await sandbox.close();
  });

  test("belongs to one process: the second one states why, and exits with code 1", async () => {
    const path = join(folder, "shared");
    const sandbox = createSandbox({ data: path });
    const second = await node([main, "--port", "0", "--data", path], { cwd: folder });
    expect(second).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: `svc-webhooks sandbox: The data file ${path} cannot be used: database is locked. Another sandbox has it open: stop that one, or use another file.\n`,
    });
    await sandbox.close();
  });

  const day = 86_400_000;
  const clocks: Readonly<
    Record<string, [SandboxOptions["clock"], number, SandboxOptions["clock"], number, RegExp[]]>
  > = {
    "manual, which is logged, without a choice": [
      "manual",
      day,
      undefined,
      day,
      [/^The clock of \S+ is manual and stands still: --clock real lets it run\.$/],
    ],
    "accelerated, which is logged, without a choice": [
      "accelerated",
      day,
      undefined,
      day,
      [/^The clock of \S+ runs 60 times as fast as real time: --clock real changes that\.$/],
    ],
    "real, which is not logged, without a choice": ["real", day, undefined, day, []],
    "at the machine's time if real is chosen": [{ mode: "manual", start: 0 }, 0, "real", 0, []],
    "ahead of the machine if real is chosen, because time never goes back": [
      "manual",
      day,
      "real",
      day,
      [],
    ],
    "at the chosen start if real is chosen with one": [
      { mode: "real", start: Date.now() - day },
      0,
      { mode: "real", start: Date.now() - day },
      -day,
      [],
    ],
  };

  test.each(Object.entries(clocks))("continues its clock %s", async (name, row) => {
    const [clock, ms, next, offset, logged] = row;
    const data = join(folder, name.replaceAll(/\W/g, "-"));
    const first = createSandbox({ data, clock, log: () => {} });
    await first.clock.advance(ms);
    await first.close();
    const lines: string[] = [];
    const second = createSandbox({ data, clock: next, log: (line) => void lines.push(line) });
    expect(Math.abs(second.clock.now() - Date.now() - offset)).toBeLessThan(30_000);
    await second.close();
    expect(lines).toEqual(logged.map((line) => expect.stringMatching(line) as string));
  });
});
