import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { until } from "@svc-webhooks/kit/until";
import { builtCommand, command } from "./sandbox/command.js";

/** Linux: a soft limit of the process's own files, in bytes, which a shell's `ulimit -f` also sets. */
const limitFiles = (pid = 0, bytes: number | "unlimited") =>
  execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:`]);

const hasLimits = process.platform === "linux";

test.runIf(hasLimits)(
  "a sandbox whose disk is full refuses sends, and accepts them when there is room again",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-sandbox-"));
    const file = join(folder, "data");
    const sandbox = command(builtCommand("before the response"), ["--data", file]);
    onTestFinished(async () => {
      await sandbox.stop("SIGKILL");
      rmSync(folder, { recursive: true });
    });
    await sandbox.start().ready;

    const request = async (
      method: string,
      path: string,
      init: { headers?: Record<string, string>; body?: string } = {},
    ) => {
      const headers = { authorization: "Bearer svc_test", ...init.headers };
      const response = await fetch(`${sandbox.url}${path}`, { ...init, method, headers });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const send = (key: string) =>
      request("POST", "/v1/emails", {
        headers: { "content-type": "application/json", "idempotency-key": key },
        body: JSON.stringify({
          from: "a@a.test",
          to: ["b@b.test"],
          subject: key,
          text: "x".repeat(2_000),
        }),
      });
    const accepted = new Map<string, unknown>();
    const sendAll = async (prefix: string, count: number) => {
      const statuses = new Set<number>();
      for (let n = 0; n < count; n += 1) {
        const { status, body } = await send(`${prefix}-${n}`);
        statuses.add(status);
        if (status === 202) accepted.set(`${prefix}-${n}`, body["send_id"]);
      }
      return [...statuses];
    };
    const restart = async () => {
      await sandbox.stop("SIGKILL");
      await sandbox.start().ready;
      for (const [key, id] of accepted) {
        const { status, body } = await request("GET", `/v1/sends/${String(id)}`);
        expect({ status, subject: body["subject"] }).toEqual({ status: 200, subject: key });
      }
    };

    expect(await sendAll("before", 5)).toEqual([202]);
    limitFiles(sandbox.pid, statSync(`${file}-wal`).size + 200_000);
    expect(await sendAll("full", 40)).toEqual([202, 500]);
    expect(await send("full-39")).toMatchObject({ body: { error: { code: "internal_error" } } });
    expect(sandbox.stderr.join("")).toMatch(/the data file could not be written: .*(full|I\/O)/);
    await restart();

    limitFiles(sandbox.pid, statSync(`${file}-wal`).size + 200_000);
    expect(await sendAll("again", 40)).toContain(500);
    limitFiles(sandbox.pid, "unlimited");
    // The same keys: the clients do not know whether their sends were accepted.
    expect(await sendAll("again", 40)).toEqual([202]);
    await until(async () => (await send("again-39")).status === 202, "the sandbox recovers");
    await restart();
  },
);
