import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
    /^\.env contains addresses in MAIL_URL, which your server may read and use, .*--stub/m,
  );
  expect(stderr).not.toContain("hidden");
});
