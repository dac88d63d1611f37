import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect, onTestFinished, test, vi } from "vitest";
import { envFilesIn } from "../../src/crash-test/env-files.js";
import { cli } from "../support.js";

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

test("the variables of .env files with addresses are found, unless they are set", () => {
  const folder = folderWith({
    ".env":
      'DATABASE_URL="postgres://me:hidden@prod/app"\nexport MYSQLHOST=prod\nNAME=app\nPGHOST=prod\n',
    ".env.local": "MAIL_URL=https://mail.example.com\nPAY_URL=https://pay.example.com\n",
    ".env.test": "NAME=test\n",
    ".env.example": "OTHER_URL=https://example.com\n",
    ".envrc": "OTHER_URL=https://example.com\n",
  });
  mkdirSync(join(folder, ".env.d"));
  expect(envFilesIn(folder, (name) => name === "PAY_URL")).toEqual([
    { file: ".env", names: ["DATABASE_URL", "MYSQLHOST", "PGHOST"] },
    { file: ".env.local", names: ["MAIL_URL"] },
  ]);
});

const address = "postgres://admin:hunter2@db.internal/app";
const unread = "a line that could not be read";

test.each([
  [
    "NAME: value",
    `DATABASE_URL: ${address}\nOTHER_URL=https://x.test`,
    ["DATABASE_URL", "OTHER_URL"],
  ],
  ["NAME: value alone", `DATABASE_URL: ${address}`, ["DATABASE_URL"]],
  ["export NAME=value", `export DATABASE_URL=${address}`, ["DATABASE_URL"]],
  ["spaces around =", ` DATABASE_URL = ${address}`, ["DATABASE_URL"]],
  ["a dot and a hyphen", `app.main-URL=${address}`, ["app.main-URL"]],
  ["double quotes", `DATABASE_URL="${address}" # main`, ["DATABASE_URL"]],
  ["several lines", `PGHOSTS='a:5432\nKEY=${address}\n'\nA=1`, ["PGHOSTS"]],
  ["a quote without an end", `A="b\nDATABASE_URL=${address}`, ["DATABASE_URL"]],
  ["CRLF", `A=1\r\nDATABASE_URL=${address}\r\n`, ["DATABASE_URL"]],
  ["a byte order mark", `\uFEFFDATABASE_URL=${address}`, ["DATABASE_URL"]],
  ["two values of one name", `DATABASE_URL=${address}\nDATABASE_URL=${address}`, ["DATABASE_URL"]],
  ["export NAME value", `export DATABASE_URL ${address}\nA=1`, [unread]],
  ["NAME value", `DATABASE_URL ${address}\nOTHER=1`, [unread]],
  ["a name with a space", `DATABASE URL=${address}`, [unread]],
  ["prose", `The password of ${address} is hunter2\nA=1`, [unread]],
  ["YAML", `- url: ${address}`, [unread]],
  ["JSON", `{"url":"${address}"}`, [unread]],
  ["PowerShell", `$env:DATABASE_URL = "${address}"`, [unread]],
  ["an address without a name", `=${address}\n${address}`, [unread]],
  ["a comment", `# ${address}\nA=b # ${address}`, undefined],
])("no value of a file is a name: %s", (_what, text, names) => {
  const found = envFilesIn(folderWith({ ".env": text }), () => false);
  expect(JSON.stringify(found)).not.toMatch(/hunter2|admin/);
  expect(found[0]?.names).toEqual(names);
});

testPosix("files that do not end are not read", () => {
  const folder = folderWith({});
  execFileSync("mkfifo", [join(folder, ".env")]);
  symlinkSync("/dev/zero", join(folder, ".env.local"));
  expect(envFilesIn(folder, () => false)).toEqual([]);
});

test("a note names the variables of .env files that the server may use", async () => {
  const folder = folderWith({
    ".env": "MAIL_URL=https://:hidden@mail.example.com\nPAY_URL=https://pay.example.com\n",
  });
  vi.spyOn(process, "cwd").mockReturnValue(folder);
  onTestFinished(() => void vi.restoreAllMocks());
  const { code, stderr } = await cli(
    ["crash-test", "--start=exit 7", "--url=http://127.0.0.1:{port}/", "--event=email.sent"].concat(
      "--stub=PAY_URL",
      "--yes",
    ),
  );
  expect(code).toBe(3);
  expect(stderr).toMatch(
    /^Your server may read \.env and use the addresses in MAIL_URL, .*--stub/m,
  );
  expect(stderr).not.toContain("hidden");
});
