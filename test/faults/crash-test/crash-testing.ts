import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Pool } from "pg";
import { outputFrom } from "@svc-webhooks/kit/collected";
import { root } from "@svc-webhooks/kit/programs";
import { postgresServer, type PostgresServer } from "@svc-webhooks/kit/postgres-server";
import { until } from "@svc-webhooks/kit/until";
import type { CrashTestReport } from "@svc-webhooks/crash-test";
import { onTestFinished } from "vitest";
import { addressesIn, withoutPostgres } from "../../../tools/cli/src/crash-test/environment.js";

export const main: string = join(root, "tools/cli/bin/svc-webhooks.js");

const url = "http://127.0.0.1:{port}/webhooks";

/** The start of the names of databases that the command creates. */
const prefix = "svc_webhooks_crash_test_";

/** Starts a server with a database `app` that has the tables of `express.js`. */
export async function serverWithTables(): Promise<PostgresServer & { readonly url: string }> {
  const server = await postgresServer();
  const own = `postgres://postgres@127.0.0.1:${server.port}/app`;
  await query(server, "create database app");
  const pool = new Pool({ connectionString: own });
  await pool.query(`
    create table seen (id text primary key, at timestamptz not null default now());
    create table orders (n serial primary key, event text not null);
    create table stats (total integer not null);
    insert into stats values (0);
  `);
  await pool.end();
  return { ...server, url: own };
}

export async function query(
  { connectionString }: PostgresServer,
  text: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const pool = new Pool({ connectionString, max: 1 });
  try {
    return (await pool.query<Record<string, unknown>>(text)).rows;
  } finally {
    await pool.end();
  }
}

/** Returns the databases that the command has created. */
export const copiesIn = async (server: PostgresServer): Promise<readonly unknown[]> =>
  (
    await query(server, `select datname from pg_database where starts_with(datname, '${prefix}')`)
  ).map(({ datname }) => datname);

export interface Started {
  /** Returns the ids of the processes that the command has started. */
  readonly processes: () => readonly number[];
  /** Returns the temporary files and folders of the command and its processes. */
  readonly files: () => readonly string[];
  readonly interrupt: (signal: NodeJS.Signals) => void;
  readonly ended: Promise<{
    readonly code: number | null;
    readonly stdout: string;
    readonly stderr: string;
  }>;
}

const owner = "CRASH_TEST_OWNER";

/**
 * Starts the command with a temporary folder and a mark of its own.
 *
 * @param onFinished that of a test's context, if tests run at the same time
 */
export function start(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  onFinished: (clean: () => Promise<void>) => void = onTestFinished,
): Started {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-"));
  const mark = crypto.randomUUID();
  const place = args.some((arg) => arg.startsWith("--url=")) ? [] : ["--url", url];
  const child = spawn(process.execPath, [main, "crash-test", ...place, ...args], {
    cwd: root,
    env: { ...withoutAddresses(), TMPDIR: folder, [owner]: mark, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = outputFrom(child);
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...output }));
  onFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    ended,
    files: () => readdirSync(folder),
    interrupt: (signal) => void child.kill(signal),
    processes: () =>
      readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name) && Number(name) !== child.pid)
        .filter((name) => environmentOf(name).includes(`${owner}=${mark}`))
        .map(Number),
  };
}

function environmentOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}

/** The tests' environment may contain addresses, which the command would refuse. */
const withoutAddresses = (): NodeJS.ProcessEnv => {
  const { env } = withoutPostgres(process.env);
  const names = new Set(addressesIn(env, { through: [], stub: [] }).map(({ name }) => name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.has(name)));
};

/** Asserts that the command has left nothing behind. */
export async function nothingLeft(started: Started, server?: PostgresServer): Promise<unknown> {
  const databases = server ? await copiesIn(server) : [];
  return { processes: started.processes(), files: started.files(), databases };
}

export const nothing = { processes: [], files: [], databases: [] };

/**
 * Resolves when the command runs a history: it has a database, and processes besides its watcher. Rejects if the command
 * ends before.
 */
export const runsHistory = (started: Started, server: PostgresServer): Promise<void> =>
  Promise.race([
    until(
      async () => (await copiesIn(server)).length > 1 && started.processes().length > 1,
      "the command runs a history",
    ),
    started.ended.then(({ stderr }) => {
      throw new Error(`The command ended: ${stderr}`);
    }),
  ]);

/** Returns the findings of a report as `kind effect`, and what else a test expects of it. */
export function resultOf(stdout: string) {
  const report = JSON.parse(stdout) as CrashTestReport;
  return {
    report,
    findings: report.findings.map(({ kind, effect }) => `${kind} ${effect}`),
    advice: report.findings.map(({ advice }) => advice),
  };
}

export const hasProgram = async (program: string): Promise<boolean> =>
  promisify(execFile)(program, ["--version"]).then(
    () => true,
    () => false,
  );
