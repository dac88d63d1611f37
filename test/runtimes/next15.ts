import { cpSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { npm } from "@svc-webhooks/kit/npm";
import { outputOf } from "@svc-webhooks/kit/programs";
import { tarballsOf } from "@svc-webhooks/kit/tarballs";

const here = fileURLToPath(new URL(".", import.meta.url));

/** Creates a separate project with the same app, the packages from their tarballs and an older Next.js. */
export async function next15Project(): Promise<string> {
  const project = `${here}.build/next15`;
  rmSync(project, { recursive: true, force: true });
  cpSync(`${here}apps`, `${project}/apps`, { recursive: true });
  cpSync(`${here}next`, `${project}/next`, {
    recursive: true,
    filter: (source) => !source.includes(".next"),
  });

  writeFileSync(`${project}/package.json`, '{ "private": true, "type": "module" }');
  const versions = ["next@15.5.28", "react@19.1.10", "react-dom@19.1.10"];
  const tarballs = await tarballsOf(["next", "testing"]);
  const options = ["--no-audit", "--no-fund", "--no-package-lock", "--no-workspaces"];
  outputOf(await npm(["install", ...options, ...tarballs, ...versions], { cwd: project }));
  return `${project}/next`;
}
