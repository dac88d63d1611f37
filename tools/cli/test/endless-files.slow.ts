import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collected } from "@svc-webhooks/kit/collected";
import { describeLinux, testPosix } from "@svc-webhooks/kit/systems";
import { until } from "@svc-webhooks/kit/until";
import { expect, onTestFinished, test } from "vitest";
import { newFile, secret, shell, start } from "./support.js";

const nowhere = "http://127.0.0.1:9/";
/** A folder that no command gets to create. */
const unused = join(tmpdir(), "svc-webhooks-unused");
const isSender = ["--scheme=github", "--secret-env=SECRET"];

/** Command lines that read a file, without its name. */
const readers: readonly (readonly [string, readonly string[], RegExp])[] = [
  ["a secret", ["sign", "--secret-file"], /larger than 64 KiB/],
  [
    "an API key",
    ["service", "event-types", "list", "--base-url", nowhere, "--api-key-file"],
    /larger than 64 KiB/,
  ],
  ["a body", ["sign", "--secret-env=SECRET", "--body"], /larger than 64 MiB/],
  ["requests to send", ["replay", "--to", nowhere], /a line of more than 64 MiB/],
  ["requests to redact", ["redact", "--out", unused], /a line of more than 64 MiB/],
  ["requests to compare", ["drift"], /a line of more than 64 MiB/],
  ["a request to verify", ["verify", ...isSender, "--capture"], /a line of more than 64 MiB/],
  [
    "a request to deliver",
    ["crash-test", "--start=true", "--url=http://127.0.0.1:1/", "--secret-env=SECRET", "--deliver"],
    /a line of more than 64 MiB/,
  ],
];

describeLinux.each(readers)("%s", (_what, words, expected) => {
  test("from a device that does not end is refused, in bounded memory", async () => {
    // The limit is that of the memory that the process may allocate, in KiB.
    const line = `ulimit -d 800000; exec ${shell(...words)} /dev/zero`;
    const child = spawn("sh", ["-c", line], {
      env: { ...process.env, SECRET: secret },
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const output = collected(child.stdout, child.stderr);
    const [code] = await once(child, "close");
    expect(output()).toMatch(expected);
    expect(code).toBe(2);
  });

  test("from a FIFO that nothing writes to ends with the first signal", async () => {
    const fifo = newFile("fifo");
    execFileSync("mkfifo", [fifo]);
    const { child, ended } = start([...words, fifo]);
    await until(() => isOpen(child.pid ?? 0, fifo), "the FIFO is open");
    child.kill("SIGTERM");
    expect((await ended).code).toBe(143);
    expect(existsSync(unused)).toBe(false);
  });
});

const isOpen = (pid: number, file: string): boolean =>
  spawnSync("ls", ["-l", `/proc/${pid}/fd`], { encoding: "utf8" }).stdout.includes(file);

testPosix("files of a process substitution are read", async () => {
  const file = newFile("body.txt");
  writeFileSync(file, "{}");
  const signed = (secretFile: string) =>
    execFileSync(
      "bash",
      ["-c", `${shell("sign", "--body", file, "--secret-file")} ${secretFile}`],
      {
        env: { ...process.env, SECRET: secret },
        encoding: "utf8",
      },
    );
  const [soon, late] = ['<(printf %s "$SECRET")', '<(sleep 1; printf %s "$SECRET")'].map(signed);
  expect(soon).toMatch(/^sha256=[\da-f]{64}\n$/);
  expect(late).toBe(soon);
});
