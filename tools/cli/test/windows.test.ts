import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { freePort } from "@svc-webhooks/kit/free-port";
import { describePosix } from "@svc-webhooks/kit/systems";
import { expect, test } from "vitest";
import { newFile, start } from "./support.js";

function script(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** Makes a process take this system for Windows, where `cmd.exe` and `taskkill` write their arguments to a file. */
function windows(shellThen: string) {
  const calls = newFile("calls.txt");
  const folder = join(dirname(calls), "bin");
  const log = (then: string) => `echo "\${0##*/} $@" >> '${calls}'\n${then}`;
  const shell = script(join(folder, "cmd.exe"), log(shellThen));
  script(join(folder, "taskkill"), log('kill "$2"'));
  writeFileSync(join(folder, "npm.CMD"), "@echo off\r\n", { mode: 0o755 });
  const platform = 'Object.defineProperty(process, "platform", { value: "win32" })';
  const env = {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(platform)}`,
    PATH: folder,
    Path: folder,
    PATHEXT: ".EXE;.CMD",
    comspec: shell,
    PORT: undefined,
  };
  return { env, calls: () => readFileSync(calls, "utf8").trim().split("\n") };
}

describePosix("dev on Windows", () => {
  test("starts a batch file with cmd.exe, and ends what that started", async () => {
    const { env, calls } = windows("exec /bin/sleep 30");
    const to = `--to=http://localhost:${await freePort()}/`;
    const words = ["dev", "--sandbox-port=0", "--wait=1", to, "--", "npm", "run", "a & b"];
    const { code, stderr } = await start(words, env).ended;
    expect(stderr).toContain("is not listening on port");
    expect(code).toBe(1);
    expect(calls()).toEqual([
      expect.stringMatching(/^cmd\.exe \/d \/s \/c "npm \^"run\^" \^"a\^ \^&\^ b\^""$/),
      expect.stringMatching(/^taskkill \/pid \d+ \/t \/f$/),
    ]);
  });

  test("names a program that does not exist", async () => {
    // `cmd.exe` exits with 1, after a line about the name.
    const { env } = windows('echo "not recognized" >&2; exit 1');
    const words = ["dev", "--sandbox-port=0", `--to=http://localhost:${await freePort()}/`];
    const { code, stderr } = await start([...words, "--", "missing"], env).ended;
    expect(stderr).toContain("not recognized");
    expect(stderr).toContain("svc-webhooks dev: The app ended with ENOENT before it was listening");
    expect(code).toBe(1);
  });
});
