import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  outsideDirectory,
  root,
  run,
  type Ended,
  type RunOptions,
} from "@svc-webhooks/kit/programs";

/** A package manager, in an empty project of its own. */
export interface Client {
  readonly name: string;
  readonly version: RegExp;
  /** The program and its first arguments. */
  readonly command: readonly [string, ...string[]];
  /** The subcommand that adds packages to a project. */
  readonly add: string;
  /** The arguments that run the installed program `svc-webhooks`. */
  readonly exec: readonly [string, ...string[]];
  /** The program that runs a module of the project. */
  readonly start: readonly [string, ...string[]];
  /** Returns the settings for a registry. */
  readonly settings: (registry: string) => NodeJS.ProcessEnv;
}

const installed = (path: string): string => join(root, "node_modules", path);
// Some registries have no route for audits.
const npmSettings = (registry: string) => ({
  npm_config_registry: registry,
  npm_config_audit: "false",
});
const node = [process.execPath] as const;
const pnpm = [process.execPath, installed("pnpm/bin/pnpm.cjs")] as const;
const yarn1 = [process.execPath, installed("yarn/bin/yarn.js")] as const;
const yarn4 = [process.execPath, installed("@yarnpkg/cli-dist/bin/yarn.js")] as const;
const bun = [installed("bun/bin/bun.exe")] as const;

export const npm: Client = {
  name: "npm",
  version: /^1\d\./,
  command: ["npm"],
  add: "install",
  exec: ["exec", "--", "svc-webhooks"],
  start: node,
  settings: npmSettings,
};

export const clients: readonly Client[] = [
  npm,
  {
    name: "pnpm",
    version: /^10\./,
    command: pnpm,
    add: "add",
    exec: ["exec", "svc-webhooks"],
    start: node,
    settings: npmSettings,
  },
  {
    name: "Yarn 1",
    version: /^1\./,
    command: yarn1,
    add: "add",
    exec: ["run", "svc-webhooks"],
    start: node,
    settings: (registry) => ({ YARN_REGISTRY: registry }),
  },
  {
    name: "Yarn 4",
    version: /^4\./,
    command: yarn4,
    add: "add",
    exec: ["run", "svc-webhooks"],
    // Without a folder node_modules, only Yarn's own loader finds the packages.
    start: [...yarn4, "node"],
    settings: (registry) => ({
      YARN_NPM_REGISTRY_SERVER: registry,
      YARN_UNSAFE_HTTP_WHITELIST: "127.0.0.1",
      // By default, Yarn refuses versions that were published minutes ago.
      YARN_NPM_MINIMAL_AGE_GATE: "0",
      YARN_ENABLE_TELEMETRY: "false",
    }),
  },
  {
    name: "bun",
    version: /^1\./,
    command: bun,
    add: "add",
    exec: ["run", "svc-webhooks"],
    start: bun,
    settings: (registry) => ({ BUN_CONFIG_REGISTRY: registry }),
  },
];

/** Runs a program. Rejects with its output if it fails. */
export async function succeed(
  program: string,
  args: readonly string[],
  options: RunOptions,
): Promise<Ended> {
  const ended = await run(program, args, options);
  if (ended.exitCode === 0) return ended;
  throw new Error(`${program} ${args.join(" ")} failed:\n${ended.stdout}${ended.stderr}`);
}

export interface Project {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Runs the client, which must succeed. */
  readonly client: (...args: readonly string[]) => Promise<Ended>;
}

/** Creates an empty project, with a home that has no settings and no cache. */
export function emptyProject({ command, settings }: Client, registry: string): Project {
  const home = outsideDirectory();
  const folder = join(home, "app");
  mkdirSync(folder);
  writeFileSync(
    join(folder, "package.json"),
    '{ "name": "app", "version": "1.0.0", "private": true }\n',
  );
  // The scripts of npm and the tests set variables for programs that they start.
  const inherited = Object.keys(process.env).filter((one) =>
    /^(?:npm_|VITEST|NODE_ENV$|CI$)/i.test(one),
  );
  const env = {
    ...Object.fromEntries(inherited.map((one) => [one, undefined])),
    HOME: home,
    USERPROFILE: home,
    // For root, Yarn 1 has a cache outside of the home, which keeps earlier tarballs of the same version.
    YARN_CACHE_FOLDER: join(home, "yarn"),
    ...settings(registry),
  };
  const [program, ...first] = command;
  return {
    folder,
    env,
    client: (...args) => succeed(program, [...first, ...args], { cwd: folder, env }),
  };
}
