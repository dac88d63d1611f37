import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root, run, tsc } from "@svc-webhooks/kit/programs";
import { startRegistry } from "@svc-webhooks/kit/registry";
import { ends, sized } from "@svc-webhooks/kit/sized";
import { publicPackages } from "@svc-webhooks/kit/workspace";
import { clients, emptyProject, npm, type Client, type Project } from "../release/clients.js";
import { modules } from "./facade-modules.js";
import { isEsmOnly, packWorkspace, type PackedPackage } from "./packed.js";

const { packages } = await packWorkspace();
const registry = await startRegistry();
afterAll(() => registry.close());

/** Publishes a tarball to the registry, as npm does. */
async function publish({ manifest, tarball }: PackedPackage): Promise<void> {
  const { name, version } = manifest;
  const data = readFileSync(tarball);
  const file = `${name}-${version}.tgz`;
  const dist = {
    tarball: `${registry.url}${name}/-/${file}`,
    integrity: `sha512-${createHash("sha512").update(data).digest("base64")}`,
  };
  const response = await fetch(registry.url + encodeURIComponent(name), {
    method: "PUT",
    body: JSON.stringify({
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { ...manifest, dist } },
      _attachments: { [file]: { data: data.toString("base64") } },
    }),
  });
  expect(response.status).toBe(201);
}
await Promise.all(packages.map(publish));

const version = String(packages[0]?.manifest.version);
const entries = publicPackages
  .filter(({ name }) => name === "svc-webhooks")
  .flatMap((one) => one.entries)
  .filter((entry) => !isEsmOnly(entry));

/** The packages that an entry imports when it is loaded, besides those that it declares. */
const imported: Readonly<Record<string, readonly string[]>> = {
  "svc-webhooks/events": ["zod"],
  "svc-webhooks/nest": ["@nestjs/common", "@nestjs/core"],
  "svc-webhooks/next": ["next"],
  "svc-webhooks/otel": ["@opentelemetry/api"],
};
const selfContained = entries.filter((entry) => !(entry in imported));

/** Returns the names of all packages that a package manager has installed in a project. */
function installedIn(folder: string): readonly string[] {
  const hoisted = join(folder, "node_modules");
  const isolated = join(hoisted, ".pnpm");
  if (existsSync(isolated)) {
    return readdirSync(isolated).map((name) => name.replace("+", "/").replace(/(?<=.)@.*/, ""));
  }
  if (existsSync(hoisted)) {
    return readdirSync(hoisted, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith("/package.json"))
      .map((path) => dirname(path).replace(/^.*node_modules\//, ""));
  }
  const lockfile = readFileSync(join(folder, "yarn.lock"), "utf8");
  return Array.from(lockfile.matchAll(/^"(@?[^@"]+)@npm:/gm), ([, name = ""]) => name);
}

const unnamed =
  /^(?:next|react|hono|fastify|pg|postgres|pg-boss|kysely|drizzle-orm|redis|ioredis|bullmq|better-sqlite3|zod|@nestjs\/.+|@opentelemetry\/.+|@svc-webhooks\/(?:cli|testing|sandbox))$/;

/** Returns what `svc-webhooks` prints for a command if the command line is not installed. */
const cliIsMissing = (
  command: string,
) => `The command line is a package of its own, so that apps do not install it in production. Run

  npx @svc-webhooks/cli@${version} ${command}

or install it: npm install --save-dev @svc-webhooks/cli@${version}
`;

/** An app that receives one signed delivery, and prints the response: its imports, and what it does. */
const appOf = (imports: string) => `${imports}
const receiver = createReceiver({ secret: "whsec_x", on: { "*": () => {} } });
const server = express().post("/webhooks", webhooks(receiver)).listen(0, async () => {
  const body = '{"type":"email.sent"}';
  const response = await fetch("http://127.0.0.1:" + server.address().port + "/webhooks", {
    method: "POST",
    headers: { "x-svc-delivery-id": "dlv_1", "x-svc-signature": await sign(body, "whsec_x") },
    body,
  });
  console.log(response.status, await response.text());
  server.close();
  server.closeAllConnections();
});
`;
const apps = {
  "app.mjs": appOf(`import { createReceiver, sign } from "svc-webhooks";
import { webhooks } from "svc-webhooks/express";
import express from "express";`),
  "app.cjs": appOf(`const { createReceiver, sign } = require("svc-webhooks");
const { webhooks } = require("svc-webhooks/express");
const express = require("express");`),
};

/** Runs a program of a project with Node. */
const start = ({ start: [program, ...first] }: Client, project: Project, args: readonly string[]) =>
  run(program, [...first, ...args], { cwd: project.folder, env: project.env });

describe.each(sized(clients.slice(0, 2), clients))("an app that $name installs", (client) => {
  const project = emptyProject(client, registry.url);
  beforeAll(() => project.client(client.add, "svc-webhooks", "express"));

  test("has no package that it did not name", () => {
    const installed = installedIn(project.folder);
    expect(installed).toEqual(expect.arrayContaining(["@svc-webhooks/core", "express"]));
    expect(installed.filter((name) => unnamed.test(name))).toEqual([]);
  });

  test.each(Object.entries(apps))("receives a delivery in %s", async (file, code) => {
    writeFileSync(join(project.folder, file), code);
    expect(await start(client, project, [file])).toEqual({
      exitCode: 0,
      stdout: '200 {"status":"processed"}\n',
      stderr: "",
    });
  });

  test("loads each entry with require() and with import", async () => {
    const script = "entries.cjs";
    copyFileSync(join(root, "test/package/consumer", script), join(project.folder, script));
    const { stdout, stderr } = await start(client, project, [script, ...selfContained]);
    expect(stderr).toBe("");
    const lines = selfContained.map((entry) => `${entry} .cjs true`);
    expect(stdout.trimEnd().split("\n")).toEqual(lines);
  });

  test("runs svc-webhooks, which names the package of the command line, and then its version", async () => {
    // Yarn 1 would not pass `--` on.
    const words = ["doctor", "--help"];
    await expect(project.client(...client.exec, ...words)).rejects.toThrow(
      cliIsMissing(words.join(" ")),
    );
    expect(installedIn(project.folder)).not.toContain("@svc-webhooks/cli");
    await project.client(client.add, "@svc-webhooks/cli");
    const { stdout } = await project.client(...client.exec, "--version");
    expect(stdout.split("\n")).toContain(version);
  });
});

describe("an app that npm installs", () => {
  test.each(sized(["kysely@0.27"], ["kysely@0.27", "express@3"]))(
    "keeps its own %s, without an error or a warning",
    async (own) => {
      const project = emptyProject(npm, registry.url);
      await project.client("install", own);
      const { stderr } = await project.client("install", "svc-webhooks");
      expect(stderr).toBe("");
      const { stdout } = await project.client("ls", "--depth=0");
      expect(stdout).toContain(` ${own}.`);
      expect(stdout).toContain(` svc-webhooks@${version}`);
    },
  );

  describe("and has nothing but the facade", () => {
    const project = emptyProject(npm, registry.url);
    beforeAll(() => project.client("install", "svc-webhooks"));

    test.each([
      [
        'import "svc-webhooks/fastfy"',
        `Package subpath './fastfy' is not defined by "exports" in `,
      ],
      ['import "svc-webhooks/next"', "Cannot find package 'next' imported from "],
      ['import "svc-webhooks/events"', "Cannot find package 'zod' imported from "],
      ['import { webhooks } from "svc-webhooks"', "does not provide an export named 'webhooks'"],
    ])("gets Node's message for %s", async (code, message) => {
      const { exitCode, stderr } = await start(npm, project, ["--input-type=module", "-e", code]);
      expect(stderr).toContain(message);
      expect(exitCode).toBe(1);
    });
  });

  test.each(sized(["zod@3.25"], ["zod@3.25", "zod@4"]))("validates events with %s", async (zod) => {
    const project = emptyProject(npm, registry.url);
    await project.client("install", "svc-webhooks", zod);
    const code = `import { emailEvents } from "svc-webhooks/events";
      const { success } = emailEvents["email.sent"].safeParse({ type: "email.sent", more: 1 });
      console.log(success, emailEvents["email.sent"].safeParse({ type: "x" }).success);`;
    const ended = await start(npm, project, ["--input-type=module", "-e", code]);
    expect(ended).toEqual({ exitCode: 0, stdout: "true false\n", stderr: "" });
  });

  test.each(sized([], ["npx"]))("runs the command line with %s in an empty folder", async () => {
    const project = emptyProject(npm, registry.url);
    const { stdout } = await project.client(
      "exec",
      "--yes",
      "--",
      "@svc-webhooks/cli",
      "--version",
    );
    expect(stdout).toBe(`${version}\n`);
    const command = "dev -- node app.mjs";
    await expect(
      project.client("exec", "--yes", "--", "svc-webhooks", ...command.split(" ")),
    ).rejects.toThrow(cliIsMissing(command));
  });
});

test("each entry of the facade has a module", () => {
  expect(Object.keys(modules).toSorted()).toEqual(entries.toSorted());
});

/** The packages whose types the entries name. */
const typePackages = [
  "@octokit/webhooks-types",
  "@opentelemetry/api",
  "@types/express",
  "@types/node@20",
  "express",
  "fastify",
  "hono",
  "@nestjs/common",
  "@nestjs/core",
  "next@16",
  "zod",
];
const options = "--strict --skipLibCheck --target es2023 --types node".split(" ");
const pnpm = clients.filter(({ name }) => name === "pnpm");

describe.each(sized(pnpm, [npm, ...pnpm]))("the types of an app that $name installs", (client) => {
  const { folder, client: manager } = emptyProject(client, registry.url);
  const fileOf = (entry: string) => `${entry.replaceAll("/", "-")}.ts`;
  const filesIn = (format: string) => entries.map((entry) => `${format}/${fileOf(entry)}`);

  beforeAll(async () => {
    // Most bytes are programs of Next.js, which TypeScript does not need.
    await manager(client.add, "--no-optional", "svc-webhooks", ...typePackages);
    for (const [format, type] of Object.entries({ esm: "module", commonjs: "commonjs" })) {
      mkdirSync(join(folder, format));
      writeFileSync(join(folder, format, "package.json"), JSON.stringify({ type }));
      for (const entry of entries) {
        writeFileSync(join(folder, format, fileOf(entry)), `${modules[entry]?.trimStart()}\n`);
      }
    }
  });

  test.each(
    ends([
      ["--module commonjs --moduleResolution node10", "commonjs"],
      ["--module node16", "commonjs"],
      ["--module node16", "esm"],
      ["--module esnext --moduleResolution bundler", "esm"],
      ["--module nodenext", "esm"],
    ]),
  )("resolve in TypeScript 5.9: %s, %s", async (how, format) => {
    const args = [...how.split(" "), ...options, "--esModuleInterop", "--noEmit"];
    const { exitCode, stdout } = await tsc("typescript5", [...filesIn(format), ...args], {
      cwd: folder,
    });
    expect(stdout).toBe("");
    expect(exitCode).toBe(0);
  });

  // Each file by itself: in one program, TypeScript would name types by the entries that other files import.
  test.each(entries)("can be exported with declarations: %s", async (entry) => {
    const args = [`esm/${fileOf(entry)}`, "--module", "nodenext", "--declaration", ...options];
    const { exitCode, stdout } = await tsc("typescript", [...args, "--outDir", "dist"], {
      cwd: folder,
    });
    expect(stdout).toBe("");
    expect(exitCode).toBe(0);
  });
});
