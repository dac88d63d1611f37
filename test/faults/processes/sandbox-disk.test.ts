import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { testLinux } from "@svc-webhooks/kit/systems";
import { expect, onTestFinished } from "vitest";
import { listen } from "@svc-webhooks/kit/servers";
import { until } from "@svc-webhooks/kit/until";
import { builtCommand, command } from "./sandbox/command.js";

/** Sets a soft limit on the size of a process's files, in bytes, as a shell's `ulimit -f` does. */
const limitFiles = (pid = 0, bytes: number | "unlimited") =>
  execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}:`]);

/** Starts a sandbox with a data file, and returns functions to call it. The sandbox runs until the test ends. */
async function openCommand() {
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
    { body, key = "" }: { readonly body?: object; readonly key?: string } = {},
  ) => {
    const response = await fetch(`${sandbox.url}${path}`, {
      method,
      headers: {
        authorization: "Bearer svc_test",
        ...(body && { "content-type": "application/json" }),
        ...(key && { "idempotency-key": key }),
      },
      body: body ? JSON.stringify(body) : null,
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return {
    sandbox,
    request,
    send: (key: string) =>
      request("POST", "/v1/emails", {
        key,
        body: { from: "a@a.test", to: ["b@b.test"], subject: key, text: "x".repeat(2_000) },
      }),
    /** Simulates a disk with this many bytes left. */
    fill: (bytes: number) => limitFiles(sandbox.pid, statSync(`${file}-wal`).size + bytes),
    free: () => limitFiles(sandbox.pid, "unlimited"),
  };
}

testLinux(
  "a sandbox whose disk is full refuses sends, and accepts them when there is room again",
  async () => {
    const { sandbox, request, send, fill, free } = await openCommand();
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
    fill(200_000);
    expect(await sendAll("full", 40)).toEqual([202, 500]);
    expect(await send("full-39")).toMatchObject({ body: { error: { code: "internal_error" } } });
    expect(sandbox.stderr()).toMatch(/the data file could not be written: .*(full|I\/O)/);
    await restart();

    fill(200_000);
    expect(await sendAll("again", 40)).toContain(500);
    free();
    // The keys are the same, because clients have no way to determine whether their sends were accepted.
    expect(await sendAll("again", 40)).toEqual([202]);
    await until(async () => (await send("again-39")).status === 202, "the sandbox recovers");
    await restart();
  },
);

testLinux(
  "what a sandbox with a full disk refuses has no effect, and takes no memory",
  async () => {
    const { request, send, fill, free } = await openCommand();
    const arrived: string[] = [];
    const receive = async (incoming: IncomingMessage, response: ServerResponse) => {
      const { type, data } = (await json(incoming)) as {
        readonly type: string;
        readonly data: Readonly<Record<string, unknown>>;
      };
      arrived.push(`${type} ${String(data["subject"] ?? data["domain_name"])}`);
      response.end();
    };
    const port = await listen((incoming, response) => void receive(incoming, response));
    const register = (path: string) =>
      request("POST", "/v1/webhook-endpoints", {
        body: {
          url: `http://127.0.0.1:${port}/${path}`,
          event_types: ["email.sent", "email.delivered", "domain.updated"],
        },
      });
    const created = await register("first");
    const { webhook_endpoint_id: id } = created.body["webhook_endpoint"] as Record<string, string>;
    const domain = await request("POST", "/v1/domains", { body: { domain_name: "a.test" } });
    expect((await send("before")).status).toBe(202);
    const ofSend = (key: string) => [`email.delivered ${key}`, `email.sent ${key}`];
    await until(() => arrived.length === 2, "the first email is delivered");

    const seen = async () => {
      const [endpoints, domains, { body }] = await Promise.all([
        request("GET", "/_sandbox/endpoints"),
        request("GET", "/_sandbox/domains"),
        request("GET", "/_sandbox/overview"),
      ]);
      return { endpoints, domains, counts: body["counts"] as Record<string, number> };
    };
    await until(async () => (await seen()).counts["succeeded"] === 2, "both are recorded");
    const before = await seen();
    fill(0);
    const post = (path: string, body?: object) => request("POST", path, body && { body });
    const refused = [
      ...(await Promise.all(Array.from({ length: 50 }, (_, n) => send(`full-${n}`)))),
      await register("second"),
      await request("POST", "/v1/domains", { body: { domain_name: "b.test" } }),
      await post(`/v1/domains/${String(domain.body["domain_id"])}:verify`),
      await post(`/v1/webhook-endpoints/${id}:rotate-secret`),
      await request("DELETE", `/v1/webhook-endpoints/${id}`),
      await post("/_sandbox/test-email", {}),
      await post("/_sandbox/faults", { target: id, kind: "status" }),
      await post("/_sandbox/assumptions/A-25", { value: "compact" }),
    ];
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([500]));
    for (let n = 0; n < 50; n += 1)
      expect((await request("GET", "/v1/webhook-event-types")).status).toBe(200);
    const after = await seen();
    expect(after.endpoints).toEqual(before.endpoints);
    expect(after.domains).toEqual(before.domains);
    expect((after.counts["calls"] ?? 0) - (before.counts["calls"] ?? 0)).toBeLessThanOrEqual(2);

    free();
    const again = await send("full-0");
    expect(again.status).toBe(202);
    expect(await send("full-0")).toEqual(again);
    // The clock runs due work in order, so any events of the rejected requests would arrive first.
    await until(
      () => arrived.includes("email.delivered full-0"),
      "the repeated email is delivered",
    );
    expect(arrived.toSorted()).toEqual([...ofSend("before"), ...ofSend("full-0")].toSorted());
    const assumptions = await request("GET", "/_sandbox/assumptions");
    expect(assumptions.body["data"]).toContainEqual(
      expect.objectContaining({ id: "A-25", value: "spaced" }),
    );
  },
);
