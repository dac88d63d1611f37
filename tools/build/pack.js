import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { publicPackages } from "./package-folders.js";
import { npmCommand } from "./npm.js";

/*
 * `npm run pack`: writes the tarballs of all public packages to `packed/`, or to the folder that is given, and prints the line that installs
 * them. Their version names the commit, and changes that are not committed, so that two packs can be told apart.
 */

const root = fileURLToPath(new URL("../..", import.meta.url));
const [npm, ...first] = npmCommand("npm");
const packed = resolve(process.argv[2] ?? join(root, "packed"));

const git = (...args) =>
  execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 28 }).trim();

/** Returns the version of this work tree, such as `0.0.0-1a2b3c4d` or `0.0.0-1a2b3c4d.5e6f7a8b`. */
function snapshotVersion() {
  const commit = git("rev-parse", "--short=8", "HEAD");
  const changes = git("diff", "HEAD") + git("ls-files", "--others", "--exclude-standard");
  if (changes === "") return `0.0.0-g${commit}`;
  const hash = createHash("sha256").update(changes).digest("hex").slice(0, 8);
  return `0.0.0-g${commit}.x${hash}`;
}

const names = new Set(publicPackages.map(({ manifest }) => manifest.name));
const version = snapshotVersion();

/** Gives the packages of this repository the snapshot's version. */
const withVersion = (dependencies) =>
  dependencies &&
  Object.fromEntries(
    Object.entries(dependencies).map(([name, range]) => [name, names.has(name) ? version : range]),
  );

const staging = mkdtempSync(join(tmpdir(), "svc-webhooks-pack-"));
try {
  rmSync(packed, { recursive: true, force: true });
  mkdirSync(packed);
  for (const { folder, manifest } of publicPackages) {
    const copy = join(staging, basename(folder));
    cpSync(join(root, folder), copy, {
      recursive: true,
      filter: (path) => !/[\\/](?:node_modules|test|\.turbo)$/.test(path),
    });
    const { dependencies, peerDependencies } = manifest;
    const snapshot = {
      ...manifest,
      version,
      dependencies: withVersion(dependencies),
      peerDependencies: withVersion(peerDependencies),
    };
    writeFileSync(join(copy, "package.json"), `${JSON.stringify(snapshot, undefined, 2)}\n`);
  }
  const options = ["--ignore-scripts", "--loglevel=error", "--pack-destination", packed];
  const copies = publicPackages.map(({ folder }) => `./${basename(folder)}`);
  execFileSync(npm, [...first, "pack", ...options, ...copies], {
    cwd: staging,
    stdio: ["ignore", "ignore", "inherit"],
  });
} finally {
  rmSync(staging, { recursive: true, force: true });
}

const files = readdirSync(packed).map((file) => join(packed, file));
process.stdout.write(
  `${files.length} packages of version ${version} are in ${relative(process.cwd(), packed) || "."}. Install them all in your app:\n\nnpm install ${join(packed, "*.tgz")}\n`,
);
