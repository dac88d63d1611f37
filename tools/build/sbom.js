import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { publicPackages } from "./package-folders.js";

/*
 * `npm run release -- sbom [version] [file]`: writes `sbom.cdx.json`. It lists the packages, with licenses and hashes,
 * that an empty project has after it has installed all of ours from the registry. `npm sbom` cannot make it from this
 * repository, whose root has no version.
 */

const manifests = publicPackages.map(({ manifest }) => manifest);
const [, , version = manifests[0].version, path = "sbom.cdx.json"] = process.argv;
const file = resolve(path);

const temporary = mkdtempSync(join(tmpdir(), "svc-webhooks-sbom-"));
// npm names the list after the folder.
const project = join(temporary, "svc-webhooks-release");
mkdirSync(project);
const npm = (...args) =>
  execFileSync("npm", [...args, "--package-lock-only"], {
    cwd: project,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
try {
  const dependencies = Object.fromEntries(manifests.map(({ name }) => [name, version]));
  const manifest = { name: "svc-webhooks-release", version, private: true, dependencies };
  writeFileSync(join(project, "package.json"), JSON.stringify(manifest));
  npm("install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error");
  writeFileSync(file, npm("sbom", "--sbom-format=cyclonedx", "--sbom-type=library"));
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
process.stdout.write(`The packages of version ${version} and what they install are in ${file}.\n`);
