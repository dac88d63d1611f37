import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { testLinux, testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, test } from "vitest";
import { node, outsideDirectory, root } from "@svc-webhooks/kit/programs";
import { createSandbox, type Sandbox, type SandboxOptions } from "@svc-webhooks/sandbox";

const folder = outsideDirectory();
const main = join(root, "tools/sandbox/dist/main.js");
const authorization = "Bearer svc_test";

const post = (path: string, body: object) =>
  new Request(`http://sandbox.test${path}`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json", "idempotency-key": "a" },
    body: JSON.stringify(body),
  });

const email = { from: "a@a.test", to: ["b@b.test"], subject: "s", text: "x".repeat(500) };

/** Writes a data file in which a sandbox keeps `sends` emails. */
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
      sql(path, "PRAGMA user_version=1");
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
  "the file with a damaged page": [
    async (path) => {
      await written(path, 40);
      const bytes = readFileSync(path);
      randomBytes(4_096).copy(bytes, 2 * 4_096);
      writeFileSync(path, bytes);
    },
    /malformed|it is damaged: /,
  ],
  "the file of a version with more assumptions": [
    async (path) => {
      await written(path);
      sql(path, `INSERT INTO record VALUES ('setting', 'A-99', '{"id":"A-99","value":"on"}')`);
    },
    /cannot be used: There is no assumption A-99\. The ids range from A-01 to A-28\. Use another path/,
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
    expect(start).toThrow(/ Use another path, or remove the file to start without any data\.$/);
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

  const specials: Readonly<Record<string, (path: string) => string>> = {
    "a FIFO": (path) => {
      execFileSync("mkfifo", [path]);
      return path;
    },
    "a device": () => "/dev/full",
  };

  // This runs in a separate process, because opening a FIFO would block it.
  testLinux.each(Object.entries(specials))("is refused if it is %s", async (name, make) => {
    const path = make(join(folder, name.replaceAll(/\W/g, "-")));
    expect(await node([main, "--port", "0", "--data", path], { cwd: folder })).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: `svc-webhooks sandbox: The data file ${path} cannot be used: it is not a regular file. Use another path.\n`,
    });
  });

  test.each(Object.entries(places))("is refused with the fix if it is %s", (name, [make, text]) => {
    const path = make(join(folder, `place-${name.replaceAll(/\W/g, "-")}`));
    const expected = text.replaceAll("FILE", path).replaceAll("DIRECTORY", dirname(path));
    expect(() => createSandbox({ data: path })).toThrow(`The data file ${expected}`);
  });

  testPosix("is refused with the fix if it may not be written", async () => {
    const path = join(folder, "read-only");
    writeFileSync(path, "", { mode: 0o444 });
    chmodSync(folder, 0o755);
    // Root may write to any file, so it becomes another user first.
    const user = process.getuid?.() === 0 ? "process.setegid(65534);process.seteuid(65534);" : "";
    const text = `const { createSandbox } = await import("@svc-webhooks/sandbox");
      ${user}
      createSandbox({ data: process.argv[1] });`;
    const { stderr } = await node(["--input-type=module", "--eval", text, path], { cwd: root });
    expect(stderr).toContain(
      `The data file ${path} cannot be used: this process has no permission to write to it. Give the user of this process write permission for the file and its directory, or use another path.`,
    );
  });

  testPosix("is not changed if it is another program's", () => {
    const path = join(folder, "notes");
    sql(path, "PRAGMA journal_mode=WAL; CREATE TABLE notes (text)");
    chmodSync(path, 0o640);
    const before = readFileSync(path);
    expect(() => createSandbox({ data: path })).toThrow("the database of another program");
    expect(readFileSync(path)).toEqual(before);
    expect(statSync(path).mode & 0o777).toBe(0o640);
  });

  const planted: Readonly<Record<string, (target: string, path: string) => void>> = {
    "a link to a file": (target, path) => symlinkSync(target, path),
    "a link to nothing": (target, path) => symlinkSync(`${target}-missing`, path),
    "a directory": (_target, path) => mkdirSync(path),
  };
  const companions = ["-wal", "-shm", "-journal"].flatMap((suffix) =>
    Object.entries(planted).map(([what, plant]) => [suffix, what, plant] as const),
  );

  testPosix.each(companions)(
    "is refused if its %s file is %s, and nothing is changed",
    async (suffix, what, plant) => {
      const path = join(folder, `planted${suffix}-${what.replaceAll(" ", "-")}`);
      await written(path);
      chmodSync(path, 0o640);
      const target = `${path}-target`;
      writeFileSync(target, "private", { mode: 0o644 });
      plant(target, path + suffix);
      const before = readdirSync(folder);
      expect(() => createSandbox({ data: path })).toThrow(
        `The data file ${path} cannot be used: its file ${path}${suffix} is not a regular file. Use another path.`,
      );
      expect([path, target].map((one) => statSync(one).mode & 0o777)).toEqual([0o640, 0o644]);
      expect(readFileSync(target, "utf8")).toBe("private");
      expect(readdirSync(folder)).toEqual(before);
    },
  );

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

  const files: Readonly<Record<string, (path: string) => unknown>> = {
    "when it is new": () => {},
    "when others could read it": (path) => writeFileSync(path, "", { mode: 0o644 }),
    "when others could read it under another name": (path) => {
      writeFileSync(`${path}-target`, "", { mode: 0o644 });
      symlinkSync(`${path}-target`, path);
    },
    "when a killed process left files that others could read": async (path) => {
      await written(path);
      for (const suffix of ["", "-wal", "-shm"]) {
        writeFileSync(path + suffix, "", { flag: "a" });
        chmodSync(path + suffix, 0o644);
      }
    },
  };

  testPosix.each(Object.entries(files))(
    "can be read by its owner alone, with its write-ahead log, %s",
    async (name, make) => {
      const path = join(folder, name.replaceAll(/\W/g, "-"));
      await make(path);
      const sandbox = createSandbox({ data: path, log: () => {} });
      await sandbox.fetch(post("/v1/domains", { domain_name: "a.test" }));
      const names = readdirSync(folder).filter((file) => file.startsWith(basename(path)));
      expect(names.filter((file) => file.endsWith("-wal"))).toHaveLength(1);
      for (const file of names)
        expect([file, statSync(join(folder, file)).mode & 0o777]).toEqual([file, 0o600]);
      await sandbox.close();
    },
  );

  describe("has no API key that A-23 accepts", () => {
    const apiKey = "svc_live_SUPERSECRETKEY123";
    const control = (path: string, body: object) => post(`/_sandbox/${path}`, body);
    const bytesOf = (path: string) =>
      Buffer.concat(
        readdirSync(folder)
          .filter((name) => name.startsWith(basename(path)))
          .map((name) => readFileSync(join(folder, name))),
      );
    const statusFor = async (sandbox: Sandbox, key: string) => {
      const headers = { authorization: `Bearer ${key}` };
      const url = "http://sandbox.test/v1/webhook-event-types";
      return (await sandbox.fetch(new Request(url, { headers }))).status;
    };
    const valueOf = (sandbox: Sandbox) =>
      sandbox.assumptions().find(({ id }) => id === "A-23")?.value;

    test("and accepts it after a restart", async () => {
      const path = join(folder, "keys");
      const first = createSandbox({ data: path, log: () => {} });
      const chosen = control("assumptions/A-23", { value: `keys:${apiKey}` });
      expect((await first.fetch(chosen)).status).toBe(200);
      expect(bytesOf(path).includes(apiKey)).toBe(false);
      await first.close();
      const second = createSandbox({ data: path, log: () => {} });
      expect(valueOf(second)).toBe("keys:…Y123");
      expect([await statusFor(second, apiKey), await statusFor(second, "svc_test")]).toEqual([
        200, 401,
      ]);
      await second.close();
      expect(bytesOf(path).includes(apiKey)).toBe(false);
    });

    const cameIn: Readonly<
      Record<string, (key: string, encoded: string) => [string, Record<string, string>]>
    > = {
      "in the header api-key": (key) => ["", { "api-key": key }],
      "in a header of any name": (key) => ["", { "x-any": `a=${key}; b` }],
      "in a header that holds an address": (_key, encoded) => [
        "",
        { referer: `http://a.test/?q=${encoded}` },
      ],
      "as an idempotency key": (key) => ["", { "idempotency-key": key }],
      "in a parameter api_key": (key) => [`?a=1&api_key=${key}`, {}],
      "in a parameter of any name": (key) => [`?a=${key}&b`, {}],
      "in the path": (key) => [`/${key}:verify`, {}],
      "percent-encoded in the path": (_key, encoded) => [`/${encoded}`, {}],
    };

    test.each(Object.entries(cameIn))("or that came %s", async (where, requestOf) => {
      for (const [rule, key] of [
        ["any", apiKey],
        ["per-key", apiKey],
        ["keys:other_SECRET_0123456789", "other_SECRET_0123456789"],
      ] as const) {
        const path = join(folder, `came-${where.replaceAll(" ", "-")}-${rule.slice(0, 4)}`);
        const sandbox = createSandbox({ data: path, assumptions: { "A-23": rule }, log: () => {} });
        const [first, rest] = [key.slice(0, 1), key.slice(1)];
        const [address, headers] = requestOf(key, `%${Buffer.from(first).toString("hex")}${rest}`);
        const url = `http://sandbox.test/v1/domains${address}`;
        await sandbox.fetch(new Request(url, { headers }));
        await sandbox.fetch(new Request(url, { headers: { authorization, ...headers } }));
        await sandbox.close();
        const kept = bytesOf(path);
        expect(kept.includes("/v1/domains")).toBe(true);
        expect([rule, kept.includes(rest)]).toEqual([rule, false]);
      }
    });

    test("or that a call repeats, whatever it looks like", async () => {
      const path = join(folder, "repeated");
      const key = "Zm9v/YmFy+cXV4==";
      const sandbox = createSandbox({ data: path, log: () => {} });
      const url = `http://sandbox.test/v1/domains?a=${key}&b=${encodeURIComponent(key)}&c=other`;
      const headers = { authorization: `Bearer ${key}`, "x-any": `${key}0`, "x-other": "kept" };
      await sandbox.fetch(new Request(url, { headers }));
      await sandbox.close();
      const kept = bytesOf(path).toString("latin1");
      for (const part of [key, encodeURIComponent(key)]) expect(kept).not.toContain(part);
      expect(kept).toMatch(/c=other.*"x-other","kept"/s);
    });

    test("nor a signing secret that came in the path, the query or a header", async () => {
      const secret = "whsec_Zm9vYmFy/Zm9vYmFy+Zm9vYmFyZm9v==";
      const forms = [secret, encodeURIComponent(secret), `%77${secret.slice(1)}`];
      for (const [index, form] of forms.entries()) {
        const path = join(folder, `signing-secret-${index}`);
        const sandbox = createSandbox({ data: path, log: () => {} });
        const headers = { authorization, "idempotency-key": form, "x-signing": `a=${form}; b` };
        const url = `http://sandbox.test/v1/sends/${form}?a=${form}&b=other`;
        await sandbox.fetch(new Request(url, { headers }));
        await sandbox.close();
        const kept = bytesOf(path).toString();
        expect(kept).toContain("/v1/sends/whsec_…9v==?a=whsec_…9v==&b=other");
        expect(kept).not.toContain("Zm9v");
      }
    });

    test("once a file of an older version was opened", async () => {
      const path = join(folder, "older-keys");
      await written(path);
      sql(
        path,
        `INSERT INTO record VALUES ('setting', 'A-23', '{"id":"A-23","value":"keys:${apiKey}"}')`,
      );
      expect(bytesOf(path).includes(apiKey)).toBe(true);
      const sandbox = createSandbox({ data: path, log: () => {} });
      expect([valueOf(sandbox), await statusFor(sandbox, apiKey)]).toEqual(["keys:…Y123", 200]);
      await sandbox.close();
      expect(bytesOf(path).includes(apiKey)).toBe(false);
    });
  });

  test("has nothing left of what a reset removed", async () => {
    const path = join(folder, "reset");
    const sandbox = createSandbox({ data: path, log: () => {} });
    const endpoint = { url: "http://localhost:1/", event_types: ["email.sent"] };
    const created = await sandbox.fetch(post("/v1/webhook-endpoints", endpoint));
    const { secret } = (await created.json()) as { readonly secret: string };
    await sandbox.fetch(post("/v1/emails", { ...email, subject: "Confidential" }));
    await sandbox.close();
    const removed = [secret, "Confidential"];
    expect(removed.map((text) => readFileSync(path).includes(text))).toEqual([true, true]);
    const second = createSandbox({ data: path, log: () => {} });
    second.reset();
    await second.close();
    expect(removed.map((text) => readFileSync(path).includes(text))).toEqual([false, false]);
  });

  test("belongs to one process: the second one states why, and exits with code 1", async () => {
    const path = join(folder, "shared");
    const sandbox = createSandbox({ data: path });
    const second = await node([main, "--port", "0", "--data", path], { cwd: folder });
    expect(second).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: `svc-webhooks sandbox: The data file ${path} cannot be used: database is locked. Another process, such as a sandbox, has the file open: stop it, or use another file.\n`,
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
      [
        /^The clock saved in \S+ is manual, so it stands still\. To make it run, start the sandbox with --clock real, or with `clock: "real"` in code\.$/,
      ],
    ],
    "accelerated, which is logged, without a choice": [
      "accelerated",
      day,
      undefined,
      day,
      [
        /^The clock saved in \S+ runs 60 times as fast as real time\. To change that, start the sandbox with --clock real, or with `clock: "real"` in code\.$/,
      ],
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
    expect(Math.abs(second.clock.now() - Date.now() - offset)).toBeLessThan(600_000);
    await second.close();
    expect(lines).toEqual(logged.map((line) => expect.stringMatching(line) as string));
  });
});
