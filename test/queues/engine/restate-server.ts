import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@svc-webhooks/kit/free-port";
import { until } from "@svc-webhooks/kit/until";

export interface RestateServer {
  /** The URL for invocations. */
  readonly ingress: string;
  /** Registers the services of an endpoint. */
  readonly register: (port: number) => Promise<void>;
  /** Returns the invocations, as its own SQL interface reports them. */
  readonly invocations: () => Promise<readonly Invocation[]>;
  /** Ends the server with SIGKILL, and starts it again on the same folder. */
  readonly crash: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface Invocation {
  readonly id: string;
  readonly status: string;
  readonly completion_result?: string;
  readonly completion_failure?: string;
}

/** Starts a real server, with the package `@restatedev/restate-server` of a folder. */
export async function restateServer(folder: string): Promise<RestateServer> {
  const directory = mkdtempSync(join(tmpdir(), "svc-webhooks-restate-"));
  const [ingressPort, adminPort, nodePort] = [await freePort(), await freePort(), await freePort()];
  const admin = `http://127.0.0.1:${adminPort}`;
  const env = {
    ...process.env,
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_IP: "127.0.0.1",
    RESTATE_BIND_PORT: String(nodePort),
    RESTATE_INGRESS__BIND_PORT: String(ingressPort),
    RESTATE_ADMIN__BIND_PORT: String(adminPort),
    RESTATE_DEFAULT_NUM_PARTITIONS: "1",
  };
  let child: ChildProcess;
  let exited: Promise<unknown>;
  const isReady = async (url: string) => {
    try {
      return (await fetch(url)).ok;
    } catch {
      return false;
    }
  };
  const start = async () => {
    const program = join(
      folder,
      `node_modules/@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
    );
    const args = ["--base-dir", directory, "--node-name", "one", "--no-logo"];
    child = spawn(program, args, { env, stdio: "ignore" });
    exited = once(child, "exit");
    await until(
      async () =>
        (await isReady(`${admin}/health`)) &&
        (await isReady(`http://127.0.0.1:${ingressPort}/restate/health`)),
      "Restate accepts requests",
    );
  };
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  const post = async (path: string, body: object) => {
    const headers = { "content-type": "application/json", accept: "application/json" };
    const response = await fetch(admin + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return JSON.parse(text) as unknown;
  };
  await start();
  return {
    ingress: `http://127.0.0.1:${ingressPort}`,
    async register(port) {
      await post("/deployments", { uri: `http://127.0.0.1:${port}` });
    },
    async invocations() {
      const query =
        "select id, status, completion_result, completion_failure from sys_invocation order by created_at";
      const { rows } = (await post("/query", { query })) as { rows: readonly Invocation[] };
      return rows;
    },
    async crash() {
      await kill();
      await start();
    },
    async close() {
      await kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
