import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { npm } from "@svc-webhooks/kit/npm";
import { outputOf, root } from "@svc-webhooks/kit/programs";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Creates a separate project with the same app, the packages from their tarballs and an older Next.js. */
export async function next15Project(): Promise<string> {
  const project = `${here}.build/next15`;
  rmSync(project, { recursive: true, force: true });
  mkdirSync(`${project}/tarballs`, { recursive: true });
  cpSync(`${here}apps`, `${project}/apps`, { recursive: true });
  cpSync(`${here}next`, `${project}/next`, {
    recursive: true,
    filter: (source) => !source.includes(".next"),
  });

  const packages = ["core", "schemes", "node", "next"].map((name) => `packages/${name}`);
  const tools = ["crash-test", "testing"].map((name) => `tools/${name}`);
  const workspaces = [...packages, ...tools].flatMap((folder) => ["--workspace", folder]);
  outputOf(
    await npm(["pack", "--pack-destination", `${project}/tarballs`, ...workspaces], { cwd: root }),
  );
  const tarballs = readdirSync(`${project}/tarballs`).map((file) => `./tarballs/${file}`);
  writeFileSync(`${project}/package.json`, '{ "private": true, "type": "module" }');
  const versions = ["next@15.5.28", "react@19.1.10", "react-dom@19.1.10"];
  const options = ["--no-audit", "--no-fund", "--no-package-lock", "--no-workspaces"];
  outputOf(await npm(["install", ...options, ...tarballs, ...versions], { cwd: project }));
  return `${project}/next`;
}
