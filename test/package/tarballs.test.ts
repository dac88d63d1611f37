import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { rolldown } from "rolldown";
import { beforeAll, describe, expect, test } from "vitest";
import { node, root, scope, tsc, type Compiler } from "@svc-webhooks/kit/programs";
import { packWorkspace } from "./packed.js";

const { packages, consumer } = await packWorkspace();

describe.each(packages)("the tarball of $name", ({ files, manifest, source, tarball }) => {
  test("passes publint without messages", async () => {
    const { buffer } = new Uint8Array(readFileSync(tarball));
    const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  test("resolves with its types from ES modules and in bundlers", async () => {
    const attw = join(root, "node_modules/@arethetypeswrong/cli/dist/index.js");
    const { exitCode, stdout } = await node(
      [attw, tarball, "--profile", "esm-only", "--format", "json"],
      { cwd: consumer },
    );
    const { analysis } = JSON.parse(stdout) as { analysis: { types: unknown; problems: unknown } };
    // attw also passes packages without types.
    expect(analysis.types).toEqual({ kind: "included" });
    // The list includes problems that the profile ignores; the exit code does not.
    expect({ exitCode, problems: exitCode === 0 ? [] : analysis.problems }).toEqual({
      exitCode: 0,
      problems: [],
    });
  });

  test("contains only the build output, a README, the licence and the manifest", () => {
    const built = /^dist\/.+\.(?:js|d\.ts)$/;
    expect(files.filter((file) => !built.test(file)).toSorted()).toEqual([
      "LICENSE",
      "README.md",
      "package.json",
    ]);
    expect(files.filter((file) => /\btests?\b/.test(file))).toEqual([]);
  });

  // tsc does not remove the output of deleted sources, so every build script empties dist first.
  test("contains no output of a deleted source", () => {
    const sourceOf = (file: string) =>
      join(source, file.replace(/^dist/, "src").replace(/\.(?:js|d\.ts)$/, ".ts"));
    const built = files.filter((file) => file.startsWith("dist/"));
    expect(built.filter((file) => !existsSync(sourceOf(file)))).toEqual([]);
  });

  test("has the MIT licence and requires Node 20.19 or newer", () => {
    expect(manifest).toMatchObject({ license: "MIT", engines: { node: ">=20.19.0" } });
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
    const internal = dependencies.filter(([name]) => name.startsWith(`${scope}/`));
    expect(internal).toEqual(internal.map(([name]) => [name, version]));
  });
});

const strict = ["--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "false"];
const es2023 = ["--target", "es2023", "--lib", "es2023"];
const onNode = [...strict, ...es2023, "--types", "node"];
const nodenext = ["--module", "nodenext", "service.ts", "worker.ts", "legacy.cjs", "--allowJs"];
const bundler = ["--module", "esnext", "--moduleResolution", "bundler", "service.ts", "worker.ts"];

describe("a project that has installed the tarballs", () => {
  test.each<{
    readonly name: string;
    readonly compiler: Compiler;
    readonly how: readonly string[];
  }>([
    { name: "TypeScript 7, nodenext", compiler: "typescript", how: nodenext },
    { name: "TypeScript 7, bundler", compiler: "typescript", how: bundler },
    { name: "TypeScript 5.9, nodenext", compiler: "typescript5", how: nodenext },
    { name: "TypeScript 5.9, bundler", compiler: "typescript5", how: bundler },
  ])("type-checks, including all declarations: $name", async ({ compiler, how }) => {
    const { exitCode, stdout } = await tsc(compiler, ["--noEmit", ...onNode, ...how], {
      cwd: consumer,
    });
    expect(stdout).toBe("");
    expect(exitCode).toBe(0);
  });

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
      console.log(createRequire(import.meta.resolve("@svc-webhooks/core")).resolve("#hmac"));
    `;
    const { exitCode, stdout, stderr } = await node(
      [...conditions, "--input-type=module", "--eval", script],
      { cwd: consumer },
    );
    expect(stderr).toBe("");
    expect(stdout.startsWith(processed)).toBe(true);
    expect(stdout.trimEnd().endsWith(join("dist", "crypto", `hmac-${hmac}.js`))).toBe(true);
    expect(exitCode).toBe(0);
  });

  test("verifies with the web HMAC and imports nothing from Node when bundled for a browser", async () => {
    const input = join(consumer, "dist/worker.js");
    const bundle = await rolldown({ input, platform: "browser" });
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
