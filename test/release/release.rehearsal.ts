import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exampleSecret, expectedResponses, responsesOf } from "@svc-webhooks/kit/examples";
import { collected } from "@svc-webhooks/kit/collected";
import { freePort } from "@svc-webhooks/kit/free-port";
import { outsideDirectory } from "@svc-webhooks/kit/programs";
import { startRegistry } from "@svc-webhooks/kit/registry";
import { isFull, sized } from "@svc-webhooks/kit/sized";
import { until } from "@svc-webhooks/kit/until";
import { publicPackages, readManifest, type Manifest } from "@svc-webhooks/kit/workspace";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { clients, emptyProject, npm, succeed } from "./clients.js";
import { addChangeset, copyBuilds, copyRepository, faults } from "./copy.js";
import { firstExample, installedBy } from "./readme.js";

const registry = await startRegistry();
afterAll(() => registry.close());

const copy = outsideDirectory();
copyRepository(copy);
const fault = process.env["REHEARSE_FAULT"];
if (fault !== undefined) {
  const plant = faults[fault];
  if (!plant) throw new Error(`REHEARSE_FAULT must be one of ${Object.keys(faults).join(", ")}.`);
  plant(copy);
}

const userconfig = join(outsideDirectory(), "npmrc");
// npm publishes to no registry without a token for it.
writeFileSync(userconfig, `${registry.url.replace("http:", "")}:_authToken=rehearsal\n`);
const env = {
  ...emptyProject(npm, registry.url).env,
  npm_config_userconfig: userconfig,
  npm_config_provenance: "false",
};

/** Runs npm in the copy. */
const inCopy = (...args: readonly string[]) => succeed("npm", args, { cwd: copy, env });
const publish = (...args: readonly string[]) =>
  inCopy("run", "release", "--", "publish", "--no-git-tag", ...args);

const versionsOf = () =>
  new Set(publicPackages.map(({ folder }) => readManifest(join(copy, folder)).version));
const changesets = () =>
  readdirSync(join(copy, ".changeset")).filter((file) => file.endsWith(".md"));
const readme = () => readFileSync(join(copy, "README.md"), "utf8");
let version = "";

// `.ci/run` has built the packages and tested their tarballs, but for the version. A release does it again.
const isComplete = isFull || fault !== undefined;

/** Registers a test that only a release runs. */
const testRelease: (title: string, run: () => Promise<void>) => void = isFull ? test : () => {};

type Locked = Readonly<Record<string, Partial<Manifest>>>;

test("the task version gives all packages one new version, and the lockfile has it", async () => {
  const before = versionsOf();
  if (changesets().length === 0) addChangeset(copy);
  await inCopy("run", "release", "--", "version");
  const [released = "", ...others] = versionsOf();
  version = released;
  expect(others).toEqual([]);
  expect(before).not.toContain(version);
  expect(changesets()).toEqual([]);
  expect(readFileSync(join(copy, "CHANGELOG.md"), "utf8")).toContain(`\n## ${version}\n`);

  const lockfile = readFileSync(join(copy, "package-lock.json"), "utf8");
  const locked = Object.entries((JSON.parse(lockfile) as { packages: Locked }).packages);
  const workspaces = locked.filter(([path]) => !/(?:^|\/)node_modules\//.test(path));
  expect(workspaces.length).toBeGreaterThan(publicPackages.length);
  for (const [folder, entry] of workspaces) {
    const manifest = readManifest(join(copy, folder));
    for (const member of [
      "version",
      "dependencies",
      "devDependencies",
      "peerDependencies",
    ] as const)
      expect(entry[member], `${member} of ${folder} in the lockfile`).toEqual(manifest[member]);
  }
});

test("the packages are built", async () => {
  if (isComplete) await inCopy("run", "build");
  else copyBuilds(copy);
  const built = publicPackages.filter(({ folder }) => existsSync(join(copy, folder, "dist")));
  expect(built).toEqual(publicPackages);
});

// A process that exits may lose the end of a report that it writes to a pipe.
const report = join(outsideDirectory(), "report.json");

/** The results of Vitest's reporter `json`. */
interface Report {
  readonly numPassedTests: number;
}

test("the tests of the packages, their pages and their tarballs pass", async () => {
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile=${report}`];
  const passedTests = async (...args: readonly string[]) => {
    await inCopy("exec", "--offline", "--", "vitest", "run", ...reporters, ...args);
    return (JSON.parse(readFileSync(report, "utf8")) as Report).numPassedTests;
  };
  // The release has written the changelogs, which are pages.
  const check = ["--config", "test/package/check.config.ts"];
  const files = ["workspace.check.ts", "pages.check.ts"];
  expect(await passedTests(...check, ...files)).toBeGreaterThan(0);
  if (!isComplete) return;
  const matrix = ["--config", "test/contracts/vitest.config.ts"];
  expect(await passedTests(...matrix, "test/package/tarballs.matrix.ts")).toBeGreaterThan(0);
});

test("the task publish publishes each package as the latest", async () => {
  await publish();
  const names = publicPackages.map(({ name }) => name);
  expect([...registry.packuments.keys()].toSorted()).toEqual(names.toSorted());
  for (const packument of registry.packuments.values()) {
    expect(Object.keys(packument.versions)).toEqual([version]);
    expect(packument["dist-tags"]).toEqual({ latest: version });
  }
});

testRelease("a second publish changes nothing", async () => {
  const before = JSON.stringify([...registry.packuments]);
  await publish();
  expect(JSON.stringify([...registry.packuments])).toBe(before);
});

testRelease("a canary has the next version and leaves the latest", async () => {
  addChangeset(copy);
  await inCopy("exec", "--offline", "--", "changeset", "version", "--snapshot", "canary");
  await publish("--tag", "canary");
  expect(registry.packuments.size).toBe(publicPackages.length);
  for (const packument of registry.packuments.values()) {
    const canary = expect.stringMatching(/^(?!0\.0\.0)\d+\.\d+\.\d+-canary-\d+$/);
    expect(packument["dist-tags"]).toEqual({ latest: version, canary });
    expect(Object.keys(packument.versions)).toEqual([version, canary]);
  }
});

test.each(sized(clients.slice(0, 2), clients))(
  "README's first example runs in an empty project of $name",
  async (client) => {
    const project = emptyProject(client, registry.url);
    expect((await project.client("--version")).stdout).toMatch(client.version);
    await project.client(client.add, ...installedBy(readme()));

    writeFileSync(join(project.folder, "app.mjs"), firstExample(readme()));
    const port = await freePort();
    const [program, ...first] = client.start;
    const app = spawn(program, [...first, "app.mjs"], {
      cwd: project.folder,
      env: {
        ...process.env,
        ...project.env,
        PORT: String(port),
        SVC_WEBHOOK_SECRET: exampleSecret,
      },
      // Yarn starts the app in a process of its own.
      detached: true,
    });
    onTestFinished(() => void (app.exitCode === null && process.kill(-Number(app.pid), "SIGKILL")));
    const output = collected(app.stdout, app.stderr);
    const url = `http://127.0.0.1:${port}/webhooks`;
    await until(async () => {
      if (app.exitCode !== null) throw new Error(`README's first example ended:\n${output()}`);
      return fetch(url).then(
        () => true,
        () => false,
      );
    }, "README's first example listens");
    expect(await responsesOf(url)).toEqual(expectedResponses);
    await until(() => output().includes("delivered: msg_1\n"), "the handler prints the event");
    expect(output().match(/delivered/g)).toHaveLength(1);
  },
);

test("npx runs the published command line", async () => {
  const project = emptyProject(npm, registry.url);
  const { stdout } = await project.client(
    "exec",
    "--yes",
    "--",
    `@svc-webhooks/cli@${version}`,
    "--help",
  );
  expect(stdout).toMatch("Usage: svc-webhooks ");
});

interface Listed {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, Listed>>;
}

/** Returns `name@version` of all packages that `npm ls --all` lists. */
const listedIn = ({ dependencies = {} }: Listed): readonly string[] =>
  Object.entries(dependencies).flatMap(([name, one]) => [
    ...(one.version === undefined ? [] : [`${name}@${one.version}`]),
    ...listedIn(one),
  ]);

testRelease(
  "the task sbom lists each installed package with its version, license and hash",
  async () => {
    const { folder } = emptyProject(npm, registry.url);
    const inProject = (...args: readonly string[]) =>
      succeed("npm", [...args, "--package-lock-only"], { cwd: folder, env });
    const file = join(folder, "sbom.cdx.json");
    await inCopy("run", "release", "--", "sbom", version, file);
    const { components } = JSON.parse(readFileSync(file, "utf8")) as {
      readonly components: readonly {
        readonly name: string;
        readonly version: string;
        readonly licenses?: readonly unknown[];
        readonly hashes?: readonly unknown[];
      }[];
    };
    const incomplete = components.filter(
      ({ licenses = [], hashes = [] }) => licenses.length === 0 || hashes.length === 0,
    );
    expect(incomplete).toEqual([]);
    const names = publicPackages.map(({ name }) => `${name}@${version}`);
    await inProject("install", "--ignore-scripts", "--prefer-offline", ...names);
    const listed = listedIn(
      JSON.parse((await inProject("ls", "--all", "--json")).stdout) as Listed,
    );
    const inSbom = new Set(components.map((one) => `${one.name}@${one.version}`));
    expect(listed.length).toBeGreaterThan(100);
    expect(listed.filter((one) => !inSbom.has(one))).toEqual([]);
  },
);
