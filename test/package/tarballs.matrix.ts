import { fork } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { node, outsideDirectory, root, scope, tsc } from "@svc-webhooks/kit/programs";
import { sized } from "@svc-webhooks/kit/sized";
import { compile, settings } from "./compile.js";
import { isEsmOnly, nodeEntries, packWorkspace } from "./packed.js";

const { packages, consumer } = await packWorkspace();

const repository = "https://github.com/svc-webhooks/svc-webhooks";

/** Whether a link to the repository names a file with `blob`, a folder with `tree`, and an existing heading. */
function existsInRepository(link: string): boolean {
  const [, kind, path = "", heading] =
    /\/(blob|tree)\/main\/([^#]+)(?:#(.+))?$/.exec(link.slice(repository.length)) ?? [];
  const file = join(root, path);
  if (kind === undefined || !existsSync(file)) return false;
  if (statSync(file).isDirectory()) return kind === "tree" && heading === undefined;
  const headings = readFileSync(file, "utf8").match(/^#+ .+/gm) ?? [];
  const anchors = headings.map((one) =>
    one
      .replace(/^#+ /, "")
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
  return kind === "blob" && (heading === undefined || anchors.includes(heading));
}

describe.each(packages)("the tarball of $name", ({ files, installed, manifest, name, tarball }) => {
  test("passes publint without messages", async () => {
    const { buffer } = new Uint8Array(readFileSync(tarball));
    const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  test("contains only sources, build output, a README, the license and the manifest", () => {
    const built =
      /^src\/.+\.tsx?$|^src\/.+\/style\/[\w-]+\.css$|^dist\/.+\.(?:c?js|d\.c?ts)(?:\.map)?$|^bin\/[\w-]+\.c?js$|^(?:(?:postgres|sqlite)\/)?schema\.sql$|^scenarios\/[\w-]+\.json$|^dashboards\/[\w-]+\.(?:json|yaml)$/;
    expect(files.filter((file) => !built.test(file)).toSorted()).toEqual([
      "LICENSE",
      "README.md",
      "package.json",
    ]);
    expect(files.filter((file) => /(?:^|\/)tests?\/|\.test\./.test(file))).toEqual([]);
  });

  // tsc does not remove the output of deleted sources, so every build script empties dist first.
  test("maps each built file to a source in the tarball", () => {
    // The JavaScript of the facade has no code of its own.
    const pattern = name === "svc-webhooks" ? /^dist\/.+ts$/ : /^dist\/.+ts$|^dist\/.+js$/;
    const built = files.filter((file) => pattern.test(file));
    const map = (file: string): { file: string; sources: readonly string[] } =>
      JSON.parse(readFileSync(join(installed, `${file}.map`), "utf8"));
    const missing = built.flatMap((file) =>
      map(file)
        .sources.map((one) => join(dirname(file), one))
        .filter((one) => !files.includes(one)),
    );
    expect(missing).toEqual([]);
    expect(built.map((file) => map(file).file)).toEqual(built.map((file) => basename(file)));
    expect(built.length).toBeGreaterThan(1);
  });

  test("has a README whose links work on a registry's page", () => {
    const readme = readFileSync(join(installed, "README.md"), "utf8");
    const links = Array.from(readme.matchAll(/\]\(([^)\s]+)\)/g), ([, link = ""]) => link);
    const relative = links.filter((link) => !/^(?:https:|#)/.test(link));
    expect(relative.filter((link) => !files.includes(normalize(link)))).toEqual([]);
    const ours = links.filter((link) => link.startsWith(repository));
    expect(ours.filter((link) => !existsInRepository(link))).toEqual([]);
  });

  // 20.12 is the first with `crypto.hash`. `npm run test:matrix` runs on it.
  test("has the MIT license and requires Node 20.12, or 22 and newer", () => {
    expect(manifest).toMatchObject({ license: "MIT", engines: { node: "^20.12.0 || >=22.0.0" } });
  });

  test("has the same version as all other packages, and depends on exactly that version", () => {
    const version = packages[0]?.manifest.version;
    expect(manifest.version).toBe(version);
    const dependencies = Object.entries({
      ...manifest.devDependencies,
      ...manifest.peerDependencies,
      ...manifest.optionalDependencies,
      ...manifest.dependencies,
    });
    // The package that builds the others is not published and keeps its version.
    const published = new Set(packages.map((one) => one.name));
    const internal = dependencies.filter(([one]) => published.has(one));
    expect(internal).toEqual(internal.map(([one]) => [one, version]));
  });
});

/**
 * The packages whose manifests have a form of their own: conditions, only ES modules, no main entry, and one line per
 * entry. `exports.check.ts` compares the manifests of all packages with these forms.
 */
const ownForm = ["core", "cloudflare", "cli"].map((name) => `${scope}/${name}`);
const analyzed = sized(
  packages.filter(({ name }) => [...ownForm, "svc-webhooks"].includes(name)),
  packages,
);

test.each(analyzed)(
  "the tarball of $name resolves with its types in all module systems",
  async ({ name, tarball }) => {
    const { buffer } = new Uint8Array(readFileSync(tarball));
    const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(buffer)), {
      // TypeScript resolves no SQL.
      excludeEntrypoints: [/\.sql$/],
    });
    // A package without types has no problems.
    if (analysis.types === false) throw new Error(`${name} has no types.`);
    expect(analysis.types).toEqual({ kind: "included" });
    const isExpected = (problem: object) =>
      "entrypoint" in problem &&
      "resolutionKind" in problem &&
      isEsmOnly(name + String(problem.entrypoint).slice(1)) &&
      ["node10", "node16-cjs"].includes(String(problem.resolutionKind));
    expect(analysis.problems.filter((problem) => !isExpected(problem))).toEqual([]);
  },
);

const strict = ["--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "false"];
const es2023 = ["--target", "es2023", "--lib", "es2023"];
const onNode = [...strict, ...es2023, "--types", "node"];
const nodenext =
  "--module nodenext --allowJs service.ts worker.ts legacy.cjs commonjs/service.ts".split(" ");
const bundler = ["--module", "esnext", "--moduleResolution", "bundler", "service.ts", "worker.ts"];

describe("a project that has installed the tarballs", () => {
  test.each([
    { name: "nodenext", how: nodenext },
    { name: "bundler", how: bundler },
  ])("type-checks, including all declarations: TypeScript 7, $name", async ({ how }) => {
    const { exitCode, stdout } = await tsc("typescript", ["--noEmit", ...onNode, ...how], {
      cwd: consumer,
    });
    expect(stdout).toBe("");
    expect(exitCode).toBe(0);
  });

  test.each(["node16", "node18", "nodenext", "bundler"] as const)(
    "type-checks, including our declarations: TypeScript 5.9, %s",
    (name) => {
      const options = { ...settings[name], noEmit: true };
      expect(compile(consumer, ["service.ts", "worker.ts"], options)).toEqual([]);
    },
  );

  test("type-checks for a worker, which has the web's types but not Node's", async () => {
    const web = ["--target", "es2023", "--lib", "es2023,dom,dom.iterable", "--types", ""];
    const resolution = ["--module", "esnext", "--moduleResolution", "bundler"];
    const { exitCode, stdout } = await tsc(
      "typescript",
      ["--noEmit", ...strict, ...web, ...resolution, "worker.ts"],
      { cwd: consumer },
    );
    expect(stdout).toBe("");
    expect(exitCode).toBe(0);
  });
});

describe("a CommonJS project that has installed the tarballs", () => {
  const responses = [
    'email.delivered 200 {"status":"processed"}',
    expect.stringMatching(/^email\.sent 500 .*"handler_failed"/),
    "parked PermanentError: example.com",
    'domain.updated 200 {"status":"parked"}',
    'contact.created 200 {"status":"processed"}',
    'email.delivered 200 {"status":"processed"}',
    'email.delivered 200 {"status":"processed"}',
    'email.delivered 200 {"status":"processed"}',
  ];

  test.each(Object.entries(settings))(
    "type-checks, including our declarations, and receives signed deliveries: TypeScript 5.9, %s",
    async (name, options) => {
      const outDir = join(consumer, "commonjs", name);
      expect(compile(consumer, ["commonjs/service.ts"], { ...options, outDir })).toEqual([]);
      const code = readFileSync(join(outDir, "service.js"), "utf8");
      // A bundler gets the imports as they are written.
      expect(code.includes(`require("${scope}/core")`)).toBe(name !== "bundler");
      if (name === "bundler") return;
      const { exitCode, stdout, stderr } = await node([join(outDir, "service.js")], {
        cwd: consumer,
      });
      expect(stderr).toBe("");
      expect(stdout.trimEnd().split("\n")).toEqual(responses);
      expect(exitCode).toBe(0);
    },
  );

  test("loads each entry with require() and with import", async () => {
    const { exitCode, stdout, stderr } = await node(["entries.cjs", ...nodeEntries], {
      cwd: consumer,
    });
    expect(stderr).toBe("");
    expect(stdout.trimEnd().split("\n")).toEqual(nodeEntries.map((entry) => `${entry} .cjs true`));
    expect(exitCode).toBe(0);
  });

  test("loads all of testing without fast-check, except the store contract, which names it", async () => {
    const testing = `${scope}/testing`;
    const project = outsideDirectory();
    const modules = join(project, "node_modules", scope);
    mkdirSync(modules, { recursive: true });
    for (const { name, installed, manifest } of packages) {
      if (name === testing) expect(manifest.dependencies).not.toHaveProperty("fast-check");
      if (![testing, `${scope}/core`, `${scope}/crash-test`, `${scope}/schemes`].includes(name))
        continue;
      cpSync(installed, join(project, "node_modules", name), { recursive: true });
    }
    const script = join(project, "entries.cjs");
    copyFileSync(join(consumer, "entries.cjs"), script);
    const load = (entries: readonly string[]) => node([script, ...entries], { cwd: project });

    const store = `${testing}/store`;
    const entries = nodeEntries.filter((entry) => entry.startsWith(testing) && entry !== store);
    const { exitCode, stdout, stderr } = await load(entries);
    expect(stderr).toBe("");
    expect(stdout.trimEnd().split("\n")).toEqual(entries.map((entry) => `${entry} .cjs true`));
    expect(exitCode).toBe(0);
    const missing = await load([store]);
    expect(missing.stderr).toContain("Cannot find package 'fast-check'");
    expect(missing.exitCode).toBe(1);
  });

  test.each([
    "sandbox",
    "listen",
    "replay",
    "sign",
    "verify",
    "doctor",
    "service trigger",
    "service events list",
  ])("runs the command line: %s", async (name) => {
    const program = join(consumer, "node_modules/@svc-webhooks/cli/bin/svc-webhooks.js");
    const { exitCode, stdout, stderr } = await node([program, ...name.split(" "), "--help"], {
      cwd: consumer,
    });
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(`Usage: svc-webhooks ${name} `);
  });

  test("recognizes the errors and the unnamed stores of the other copy of the core", async () => {
    const { exitCode, stdout, stderr } = await node(["two-copies.mjs"], { cwd: consumer });
    expect(stderr).toBe("");
    const outcomes = [
      "handler_failed 61",
      "parked",
      "body_too_large",
      "store_unavailable 0",
      "invalid_handler",
      "missing_name",
    ];
    expect(stdout.trimEnd().split("\n")).toEqual([
      ...outcomes.map((outcome) => `an ESM receiver ${outcome}`),
      ...outcomes.map((outcome) => `a CommonJS receiver ${outcome}`),
    ]);
    expect(exitCode).toBe(0);
  });
});

describe("a project that has installed the tarballs and is compiled", () => {
  const processed = '200 {"status":"processed"}\n';

  beforeAll(async () => {
    await tsc("typescript", ["--outDir", "dist", ...onNode, ...nodenext], { cwd: consumer });
  });

  test("receives signed deliveries in ES modules", async () => {
    const { exitCode, stdout, stderr } = await node(["dist/service.js"], { cwd: consumer });
    expect(stderr).toBe("");
    expect(stdout.trimEnd().split("\n")).toEqual([
      'email.delivered 200 {"status":"processed"}',
      expect.stringMatching(/^email\.sent 500 .*"handler_failed"/),
      "parked domain.updated example.com",
      'domain.updated 200 {"status":"parked"}',
      'contact.created 200 {"status":"processed"}',
      'node 200 {"status":"processed"}',
      'express 200 {"status":"processed"}',
    ]);
    expect(exitCode).toBe(0);
  });

  test("receives signed deliveries in CommonJS, with require()", async () => {
    const { exitCode, stdout, stderr } = await node(["dist/legacy.cjs"], { cwd: consumer });
    expect(stderr).toBe("");
    expect(stdout).toBe(processed);
    expect(exitCode).toBe(0);
  });

  test.each([
    { platform: "Node", conditions: [], hmac: "node" },
    { platform: "Workers", conditions: ["--conditions=workerd"], hmac: "web" },
    { platform: "Vercel's edge runtime", conditions: ["--conditions=edge-light"], hmac: "web" },
  ])("verifies with the $hmac HMAC on $platform", async ({ conditions, hmac }) => {
    const script = `
      import { createRequire } from "node:module";
      import "./dist/worker.js";
      import "./dist/legacy.cjs";
      const core = import.meta.resolve("@svc-webhooks/core");
      console.log(import.meta.resolve("#hmac", core));
      console.log(createRequire(core).resolve("#hmac"));
    `;
    const { exitCode, stdout, stderr } = await node(
      // Only this flag lets import.meta.resolve take a second argument.
      ["--experimental-import-meta-resolve", ...conditions, "--input-type=module", "-e", script],
      { cwd: consumer },
    );
    expect(stderr).toBe("");
    expect(stdout.match(/\/dist\/crypto\/.+/g)).toEqual([
      `/dist/crypto/hmac-${hmac}.js`,
      `/dist/crypto/hmac-${hmac}.cjs`,
    ]);
    expect(stdout.split(processed.trimEnd())).toHaveLength(3);
    expect(exitCode).toBe(0);
  });

  test.each([
    ["module", 'import { createReceiver } from "@svc-webhooks/core";'],
    ["commonjs", 'const { createReceiver } = require("@svc-webhooks/core");'],
  ])("names lines of the sources in stack traces: %s", async (type, load) => {
    const { stderr } = await node(
      ["--enable-source-maps", `--input-type=${type}`, "-e", `${load} createReceiver({});`],
      { cwd: consumer },
    );
    expect(stderr).toMatch(/ at createReceiver .+\/core\/src\/receiver\.ts:\d+:\d+\)/);
    expect(stderr).not.toMatch(/ at .+\/dist\//);
  });

  /** One for both tests, because it loads the same declarations. */
  const startEditor = () =>
    fork(join(root, "node_modules/typescript5/lib/tsserver.js"), [
      "--useNodeIpc",
      "--disableAutomaticTypingAcquisition",
    ]);
  let editor: ReturnType<typeof startEditor>;
  beforeAll(() => void (editor = startEditor()));
  afterAll(() => void editor.kill());

  test.each(["service.ts", "commonjs/service.ts"])(
    "leads an editor from an import in %s to the source",
    async (file) => {
      const path = join(consumer, file);
      const lines = readFileSync(path, "utf8").split("\n");
      const line = lines.findIndex((one) => one.includes("= createReceiver("));
      const offset = (lines[line] ?? "").indexOf("createReceiver(");
      const request = (command: string, args: object) =>
        editor.send({ seq: 0, type: "request", command, arguments: args });
      const definition = new Promise<unknown>((resolve) => {
        editor.on("message", (message: { readonly command?: string; readonly body?: unknown }) => {
          if (message.command === "definition") resolve(message.body);
        });
      });
      request("compilerOptionsForInferredProjects", { options: { module: "nodenext" } });
      request("open", { file: path });
      request("definition", { file: path, line: line + 1, offset: offset + 1 });
      expect(await definition).toEqual([
        expect.objectContaining({ file: expect.stringMatching(/\/core\/src\/receiver\.ts$/) }),
      ]);
    },
  );

  test("verifies with the web HMAC and imports nothing from Node when bundled for a browser, also without tree shaking", async () => {
    const input = join(consumer, "dist/worker.js");
    const bundle = await rolldown({ input, platform: "browser", treeshake: false });
    const { output } = await bundle.generate({ format: "esm" });
    const hmac = output[0].moduleIds.filter((id) => /[\\/]hmac-\w+\.js$/.test(id));
    expect(hmac).toEqual([expect.stringMatching(/hmac-web\.js$/)]);
    expect(output.flatMap((chunk) => ("imports" in chunk ? chunk.imports : []))).toEqual([]);
    writeFileSync(join(consumer, "bundle.js"), output[0].code);
    expect(await node(["bundle.js"], { cwd: consumer })).toMatchObject({ stdout: processed });
  });
});

test("the tsc that the scripts run is TypeScript 7", async () => {
  const { stdout } = await node([join(root, "node_modules/.bin/tsc"), "--version"], { cwd: root });
  // TypeScript 5.9, which the tests above use, also has a tsc, and `npm install` links whichever it
  // installed last. `npm rebuild` and `npm ci` fix the link.
  expect(stdout).toMatch(/^Version 7\./);
});
