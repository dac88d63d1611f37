import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.js";

/** The start of the programs' paths. Debian keeps those of the newest server out of the path. */
const programs = ((): string => {
  const debian = "/usr/lib/postgresql";
  if (spawnSync("initdb", ["--version"]).status === 0 || !existsSync(debian)) return "";
  const versions = readdirSync(debian).toSorted((a, b) => Number(b) - Number(a));
  return `${debian}/${versions[0]}/bin/`;
})();

export const postgresVersion = (): string | undefined => {
  const { stdout } = spawnSync(`${programs}postgres`, ["--version"], { encoding: "utf8" });
  return /[\d.]+/.exec(stdout ?? "")?.[0];
};

/** Runs `use` with the address of a new server with default settings: commits wait for the disk. */
export async function withPostgres<T>(use: (connectionString: string) => Promise<T>): Promise<T> {
  if (!postgresVersion()) {
    throw new Error("Install PostgreSQL, or name the sections that do without it.");
  }
  const directory = mkdtempSync(join(tmpdir(), "svc-webhooks-bench-"));
  const account = unprivileged();
  if (account) chownSync(directory, account.uid, account.gid);
  const options = { cwd: directory, ...account };
  const port = await freePort();
  const data = join(directory, "data");
  const cluster = ["-D", data, "-U", "postgres", "-A", "trust", "--no-locale", "--no-sync"];
  const settings = [`port=${port}`, "listen_addresses=127.0.0.1", "unix_socket_directories="];

  const created = spawnSync(`${programs}initdb`, cluster, { ...options, encoding: "utf8" });
  if (created.status !== 0) throw new Error(`initdb failed: ${created.stderr}`);
  const server = spawn(
    `${programs}postgres`,
    ["-D", data, ...settings.flatMap((setting) => ["-c", setting])],
    { ...options, stdio: ["ignore", "ignore", "pipe"] },
  );
  const ended = once(server, "exit");
  // SIGQUIT ends its processes too, without a checkpoint.
  const kill = () => void server.kill("SIGQUIT");
  // An uncaught error must not leave it running either.
  process.once("exit", kill);
  try {
    await isReady(server.stderr);
    return await use(`postgres://postgres@127.0.0.1:${port}/postgres`);
  } finally {
    kill();
    process.off("exit", kill);
    await ended;
    rmSync(directory, { recursive: true });
  }
}

const idOf = (flag: string) =>
  Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);

/** PostgreSQL refuses to run as root. */
const unprivileged = () =>
  process.getuid?.() === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : undefined;

/** Resolves once the server's log reports it, and discards the rest of the log. */
async function isReady(log: NodeJS.ReadableStream): Promise<void> {
  let text = "";
  for (;;) {
    const [chunk] = (await Promise.race([once(log, "data"), once(log, "end")])) as [Buffer?];
    if (!chunk) throw new Error(`PostgreSQL did not start: ${text}`);
    text += String(chunk);
    if (text.includes("ready to accept connections")) return void log.resume();
  }
}
