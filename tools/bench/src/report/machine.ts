import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem, type as system } from "node:os";
import { postgresVersion } from "@svc-webhooks/kit/postgres-server";
import { redisVersion } from "@svc-webhooks/kit/redis-server";

const manifest = new URL("../../package.json", import.meta.url);

/** Returns the commit of this folder, with `-dirty` if files have changed since, or undefined outside a clone. */
function commit(): string | undefined {
  const args = ["describe", "--always", "--dirty", "--exclude=*"];
  const { stdout } = spawnSync("git", args, { cwd: import.meta.dirname, encoding: "utf8" });
  return stdout?.trim() || undefined;
}

/** Returns the commit, the hardware and the versions, one line each, without the machine's name or paths. */
export function machine(): string[] {
  const hash = commit();
  const load = loadavg()[0]?.toFixed(1);
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  // Keeps only the version number: the rest identifies a build.
  const kernel = /^[\d.]+/.exec(release())?.[0] ?? "";
  const redis = redisVersion();
  const postgres = postgresVersion();
  // Reads the versions from the manifest, which pins those of all dependencies.
  const { devDependencies } = JSON.parse(readFileSync(manifest, "utf8")) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const packages = Object.entries(devDependencies).map((entry) => entry.join(" "));
  return [
    ...(hash ? [`commit ${hash}`] : []),
    `${cpus()[0]?.model.trim() ?? "unknown CPU"}, ${availableParallelism()} cores, ${gigabytes} GiB, load average ${load} before the run`,
    `${system()} ${kernel}, Node ${process.versions.node}, OpenSSL ${process.versions.openssl}`,
    [
      ...(redis ? [`redis-server ${redis}`] : []),
      ...(postgres ? [`PostgreSQL ${postgres}`] : []),
      ...packages,
    ].join(", "),
  ];
}
