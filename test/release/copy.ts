import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { root } from "@svc-webhooks/kit/programs";
import { packageFolders } from "../../tools/build/package-folders.js";

/** Links what is installed. The links of npm stay relative, so that those to workspaces lead to the copy's. */
function linkModules(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (entry.name.startsWith("@") || entry.name === ".bin") linkModules(source, target);
    else if (!entry.name.startsWith(".")) symlinkSync(source, target, "junction");
  }
}

/** Copies the tracked files of the repository to an empty folder, as a repository with one commit. */
export function copyRepository(folder: string): void {
  const git = (cwd: string, ...args: readonly string[]) =>
    execFileSync("git", args, { cwd, encoding: "utf8", maxBuffer: 2 ** 26 });
  for (const file of git(root, "ls-files", "-z").split("\0")) {
    if (!existsSync(join(root, file)) || file === "") continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    copyFileSync(join(root, file), join(folder, file));
  }
  linkModules(join(root, "node_modules"), join(folder, "node_modules"));
  git(folder, "init", "--quiet");
  git(folder, "add", "--all");
  const identity = ["-c", "user.name=rehearsal", "-c", "user.email=rehearsal@localhost"];
  git(folder, ...identity, "commit", "--quiet", "--message", "copy");
}

const schemasOfFacade = ["postgres", "sqlite"].map((name) => `packages/svc-webhooks/${name}`);

/** Copies what the build of the repository has written. */
export function copyBuilds(folder: string): void {
  const outputs = packageFolders.map((one) => join(one, "dist"));
  for (const output of [...outputs, ...schemasOfFacade].filter((one) =>
    existsSync(join(root, one)),
  )) {
    cpSync(join(root, output), join(folder, output), { recursive: true });
  }
}

/** Adds a changeset for the core. */
export function addChangeset(folder: string): void {
  const text = '---\n"@svc-webhooks/core": patch\n---\n\nRehearse a release.\n';
  writeFileSync(join(folder, ".changeset/rehearsal.md"), text);
}

const edit = (folder: string, file: string, from: string | RegExp, to: string): void => {
  const path = join(folder, file);
  const text = readFileSync(path, "utf8");
  if (text.replace(from, to) === text) throw new Error(`${file} no longer has ${String(from)}.`);
  writeFileSync(path, text.replace(from, to));
};

/** Mistakes that the rehearsal must find. `REHEARSE_FAULT=<name> npm run release -- rehearse` makes one in the copy. */
export const faults: Readonly<Record<string, (folder: string) => void>> = {
  "install-line": (folder) =>
    edit(folder, "README.md", /(npm install svc-webhooks) express\b/, "$1"),
  "missing-file": (folder) => edit(folder, "packages/express/package.json", '"dist",', ""),
  "inexact-dependency": (folder) =>
    edit(
      folder,
      "packages/express/package.json",
      '"@svc-webhooks/core": "',
      '"@svc-webhooks/core": "^',
    ),
  "stale-lockfile": (folder) =>
    edit(folder, "tools/build/release.js", /^.*"--package-lock-only".*\n/m, ""),
};
