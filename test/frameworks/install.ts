import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { outputOf } from "@svc-webhooks/kit/programs";
import { npx, npxStart } from "@svc-webhooks/kit/npx";
import { spawned, type Served } from "@svc-webhooks/kit/launch";
import { buildFolder, codeOf, preload } from "./page.js";
import type { Project } from "./projects.js";

const node22 = ["-y", "-p", "node@22"];

/** Installs and builds a project. Resolves to a function that serves it, with more environment variables. */
export async function build(
  { name, page = name, position, file, packages, files, commands }: Project,
  tarballs: readonly string[],
): Promise<(environment?: Readonly<Record<string, string>>) => Promise<Served>> {
  const cwd = `${buildFolder}/${name}`;
  rmSync(cwd, { recursive: true, force: true });
  const all = {
    ...files,
    "package.json": '{ "private": true, "type": "module" }',
    // Firebase's framework looks for the function in the working directory. SvelteKit builds in workers.
    "preload.mjs": `${preload}
import { isMainThread } from "node:worker_threads";
if (isMainThread) process.chdir(${JSON.stringify(cwd)});`,
    [file]: codeOf(page, position),
  };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(`${cwd}/${path}`), { recursive: true });
    writeFileSync(`${cwd}/${path}`, text);
  }
  const options = ["--no-audit", "--no-fund", "--no-package-lock", "--no-workspaces"];
  outputOf(await npx([...node22, "npm", "install", ...options, ...tarballs, ...packages], { cwd }));

  const env: NodeJS.ProcessEnv = {
    ...process.env,
    NODE_ENV: undefined,
    NODE_OPTIONS: undefined,
    // No secret is set, as on a build machine.
    SVC_WEBHOOK_SECRET: undefined,
    ASTRO_TELEMETRY_DISABLED: "1",
    NUXT_TELEMETRY_DISABLED: "1",
  };
  const preloaded = ["node", "--import", `${cwd}/preload.mjs`];
  for (const command of commands.slice(0, -1)) {
    outputOf(await npx([...node22, ...preloaded, ...command], { cwd, env }));
  }
  const [program = "", ...args] = commands.at(-1) ?? [];
  return (environment = {}) => {
    // React Router's server opens others to look for a free port, unless it is given one.
    const settings = Object.entries({ PORT: "3000", ...environment }).map(
      ([variable, value]) => `${variable}=${value}`,
    );
    const command = ["env", ...settings, ...preloaded, `${cwd}/${program}`, ...args];
    return spawned(...npxStart, ...node22, ...command);
  };
}
