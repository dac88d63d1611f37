import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { availableParallelism, cpus, release, totalmem, type as system } from "node:os";

const require = createRequire(import.meta.url);

/** What was measured on and with what, a line each. Nothing tells whose machine it is. */
export function machine(): string[] {
  const [processor] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  // What follows the figures is the name of somebody's build.
  const kernel = /^[\d.]+/.exec(release())?.[0] ?? "";
  return [
    `${processor?.model.trim() ?? "unknown CPU"}, ${availableParallelism()} cores, ${gigabytes} GiB`,
    `${system()} ${kernel}, Node ${process.versions.node}, OpenSSL ${process.versions.openssl}`,
    ...listed(
      commands.map(([command, version]) => withVersion(command, versionTold(command, version))),
    ),
    ...listed(packages.map((name) => withVersion(name, versionInstalled(name)))),
  ];
}

const commands = [
  ["wrk", /(\d+\.\d+\.\d+)/],
  ["redis-server", /v=(\S+)/],
] as const;

const packages = [
  "express",
  "hono",
  "@hono/node-server",
  "ioredis",
  "autocannon",
  "@octokit/webhooks",
  "@octokit/webhooks-methods",
  "standardwebhooks",
  "svix",
  "stripe",
  "@hookflo/tern",
  "rolldown",
];

/** One line, or none. */
function listed(items: readonly (string | undefined)[]): string[] {
  const line = items.filter((item) => item !== undefined).join(", ");
  return line ? [line] : [];
}

const withVersion = (name: string, version: string | undefined) => version && `${name} ${version}`;

/** What a command says of itself; nothing where it is missing. */
function versionTold(command: string, version: RegExp): string | undefined {
  const { stdout, stderr } = spawnSync(command, ["--version"], { encoding: "utf8" });
  return version.exec(`${stdout}${stderr}`)?.[1];
}

/** Not every package exports its manifest, so it is looked for where Node would look for the package. */
function versionInstalled(name: string): string | undefined {
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      return (require(`${folder}/${name}/package.json`) as { readonly version: string }).version;
    } catch {
      // Perhaps the next one.
    }
  }
  return undefined;
}
