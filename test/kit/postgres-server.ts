import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "./free-port.js";
import { oncePerRun } from "./once-per-run.js";
import { describeRequiring } from "./requiring.js";
import { NotStartedError } from "./setup-errors.js";
import { until } from "./until.js";

export interface PostgresServer {
  readonly port: number;
  /** The connection string for drivers. The role may do everything. */
  readonly connectionString: string;
  /** Crashes the server: nothing is written, and every connection breaks. */
  readonly crash: () => Promise<void>;
  /** Starts the server again after a crash. */
  readonly restart: () => Promise<void>;
  /** Ends the server and removes its folder. */
  readonly close: () => Promise<void>;
}

/** The folder of the newest server's programs: Debian keeps them out of the path. */
const programs = ((): string | undefined => {
  if (spawnSync("initdb", ["--version"]).status === 0) return "";
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0];
  return newest && `${debian}/${newest}/bin/`;
})();

/** Returns the version of that server. Undefined if there is none. */
export const postgresVersion = (): string | undefined => {
  const { stdout } = spawnSync(`${programs}postgres`, ["--version"], { encoding: "utf8" });
  return /[\d.]+/.exec(stdout ?? "")?.[0];
};

/**
 * The variable with the folder of another version's programs, such as `/opt/postgres/bin/`, for servers that
 * start later.
 */
export const serverVariable = "POSTGRES_SERVER";

/** `describe` for tests that need a server. */
export const describeWithPostgres: ReturnType<typeof describeRequiring> = describeRequiring(
  "PostgreSQL",
  programs !== undefined,
);

/** `describe` for tests that need a server and PgBouncer. */
export const describeWithPgBouncer: ReturnType<typeof describeRequiring> = describeRequiring(
  "PostgreSQL or PgBouncer",
  programs !== undefined && spawnSync("pgbouncer", ["--version"]).status === 0,
);

/** The account of the servers: PostgreSQL and PgBouncer refuse to run as root. */
const account = ((): { readonly uid?: number; readonly gid?: number } => {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) =>
    Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
  return { uid: id("-u"), gid: id("-g") };
})();

/** Creates a folder that the server's account owns. */
function folder(name: string): string {
  const path = mkdtempSync(join(tmpdir(), `svc-webhooks-${name}-`));
  if (account.uid !== undefined) chownSync(path, account.uid, account.gid ?? 0);
  return path;
}

const isListening = async (port: number): Promise<boolean> => {
  try {
    await promisify(execFile)(`${programs}pg_isready`, ["-h", "127.0.0.1", "-p", String(port)]);
    return true;
  } catch {
    return false;
  }
};

/** Resolves when a server accepts connections. Rejects if it exits before, such as for a port that is in use. */
async function listening(server: ChildProcess, name: string, port: number): Promise<void> {
  await until(async () => {
    const { exitCode } = server;
    if (exitCode !== null) throw new NotStartedError(`${name} exited with code ${exitCode}.`);
    return isListening(port);
  }, `${name} accepts connections`);
}

/**
 * Starts a real server on a new cluster, as an unprivileged user on a free port.
 *
 * @param settings such as `{ fsync: "on" }`. By default the server does not wait for the disk
 */
export async function postgresServer(
  settings: Readonly<Record<string, string>> = { fsync: "off" },
): Promise<PostgresServer> {
  // The folder may contain no programs for clients, such as pg_isready.
  const serverPrograms = process.env[serverVariable] ?? programs;
  const directory = folder("postgres");
  const data = join(directory, "data");
  const initialized = await oncePerRun(
    `cluster${serverPrograms?.replaceAll("/", "-")}`,
    async (path) => {
      mkdirSync(path);
      if (account.uid !== undefined) chownSync(path, account.uid, account.gid ?? 0);
      await promisify(execFile)(
        `${serverPrograms}initdb`,
        ["-D", path, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"],
        { ...account, cwd: directory },
      );
    },
  );
  await promisify(execFile)("cp", ["-a", initialized, data], account);
  const port = await freePort();
  const options = Object.entries({
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    ...settings,
  }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);

  let server: ChildProcess;
  let exited: Promise<unknown>;
  const start = async () => {
    server = spawn(`${serverPrograms}postgres`, ["-D", data, ...options], {
      ...account,
      cwd: directory,
      stdio: "ignore",
    });
    exited = once(server, "exit");
    await listening(server, "PostgreSQL", port);
  };
  // SIGQUIT is PostgreSQL's immediate shutdown: without a checkpoint, as in a crash.
  const crash = async () => {
    server.kill("SIGQUIT");
    await exited;
  };
  await start();
  return {
    port,
    connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
    crash,
    restart: start,
    async close() {
      await crash();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export interface PgBouncer {
  readonly port: number;
  readonly connectionString: string;
  readonly close: () => Promise<void>;
}

/** Starts PgBouncer in transaction mode in front of a server, with four connections to it. */
export async function pgBouncer(server: PostgresServer): Promise<PgBouncer> {
  const directory = folder("pgbouncer");
  const port = await freePort();
  const file = join(directory, "pgbouncer.ini");
  writeFileSync(
    file,
    `[databases]
postgres = host=127.0.0.1 port=${server.port} dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 500
default_pool_size = 4
`,
  );
  const child = spawn("pgbouncer", [file], { ...account, cwd: directory, stdio: "ignore" });
  const exited = once(child, "exit");
  await listening(child, "PgBouncer", port);
  return {
    port,
    connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async close() {
      child.kill("SIGKILL");
      await exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
