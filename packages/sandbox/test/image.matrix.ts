import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { collected } from "@svc-webhooks/kit/collected";
import { freePort } from "@svc-webhooks/kit/free-port";
import { outsideDirectory, root, run } from "@svc-webhooks/kit/programs";
import { describeLinux } from "@svc-webhooks/kit/systems";
import { until } from "@svc-webhooks/kit/until";
import { commandOptions } from "@svc-webhooks/sandbox/command";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { raw } from "./http/raw-request.js";
import { buildStages, inside, type Built } from "./image/build.js";
import {
  contextOf,
  healthCommand,
  lastOf,
  problemsOf,
  readDockerfile,
  type Stage,
} from "./image/dockerfile.js";
import { posted } from "./support.js";

/*
 * No container engine is needed: the steps of the Dockerfile run in folders, and the program with the Node of the
 * image. What the base image itself contains is therefore not tested.
 */

const text = readFileSync(join(root, "packages/sandbox/Dockerfile"), "utf8");
const tracked = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && existsSync(join(root, file)));
const ignore = readFileSync(join(root, ".dockerignore"), "utf8");
const context = contextOf(ignore, tracked);
const stages = readDockerfile(text);
const image = stages.at(-1) as Stage;
const { default: port } = commandOptions.port;

describe("the Dockerfile", () => {
  test("keeps the rules of images", () => {
    expect(problemsOf(stages, context)).toEqual([]);
    expect(lastOf(image, "EXPOSE")?.text).toBe(port);
    expect(lastOf(image, "VOLUME")?.text).toBe("/data");
  });

  test.each([
    [
      "24.21.0-trixie-slim\nLABEL",
      "latest\nLABEL",
      "FROM node:latest does not name a whole version.",
    ],
    ["USER 1000:1000", "USER root", "USER is not a number other than 0."],
    ["USER 1000:1000", "USER 0", "USER is not a number other than 0."],
    ["USER 1000:1000", "", "USER is not a number other than 0."],
    ["COPY packages/core ", "COPY packages/cores ", "COPY packages/cores: not in the context."],
    [
      "COPY packages/core ",
      "COPY packages/core/test ",
      "COPY packages/core/test: not in the context.",
    ],
    ["COPY packages/core ", "ADD packages/core ", "ADD may download. Use COPY."],
    [
      "--from=build /src/node_modules",
      "--from=built /src/node_modules",
      "COPY --from=built: no such stage.",
    ],
    [
      "ENV NODE_ENV",
      "ENV NPM_TOKEN=x NODE_ENV",
      "ENV NPM_TOKEN=x NODE_ENV=production names a secret.",
    ],
    ["ENV NODE_ENV", "ARG password\nENV NODE_ENV", "ARG password names a secret."],
    ['ENTRYPOINT ["node"', 'ENTRYPOINT node "x', "ENTRYPOINT is not in the exec form."],
    ['  CMD ["node"', '  CMD node "x', "HEALTHCHECK is not in the exec form."],
  ])("a mistake is found: %s → %s", (right, wrong, problem) => {
    expect(text).toContain(right);
    const changed = readDockerfile(text.replace(right, wrong));
    expect(problemsOf(changed, context)).toEqual([problem]);
  });

  test("has a context of sources, without builds, tests and installed packages", () => {
    const extra = [
      "packages/core/dist/index.js",
      "packages/core/node_modules/x/x.js",
      ".env",
      ".git/config",
    ];
    expect(contextOf(ignore, [...tracked, ...extra])).toEqual(context);
    expect(context.filter((file) => /\.test\.|^examples\/|^test\//.test(file))).toEqual([]);
    expect(context).toContain("packages/sandbox/src/main.ts");
  });
});

// A container runs Linux, which answers on all of 127.0.0.0/8.
describeLinux("the image", () => {
  let built: Built;
  let bin: string;
  // The user of the image must be able to read everything, and tests as root can become that user.
  const user = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};

  beforeAll(async () => {
    const directory = outsideDirectory();
    chmodSync(directory, 0o755);
    const [, version = ""] = /^node:([\d.]+)/.exec(image.image) ?? [];
    const args = ["--yes", "--package", `node@${version}`, "node", "--print", "process.execPath"];
    const { stdout } = await run("npx", args, { cwd: directory });
    bin = join(directory, "bin");
    mkdirSync(bin);
    copyFileSync(stdout.trim(), join(bin, "node"));
    built = await buildStages(stages, { directory, bin, context });
  });

  /** Runs a command of the image, until it exits or the test ends. Its port is a free one. */
  function start(command: readonly string[], own: number) {
    const [, ...args] = command.map((word) => inside(built.folder, word));
    const child = spawn(
      join(bin, "node"),
      args.map((word) => word.replaceAll(`:${port}/`, `:${own}/`)),
      {
        cwd: join(built.folder, built.workdir),
        env: { PATH: bin, ...built.env },
        stdio: ["ignore", "pipe", "pipe"],
        ...user,
      },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    const output = collected(child.stdout, child.stderr);
    const exit = once(child, "close").then(([code]: (number | null)[]) => code);
    return { child, exit, output };
  }

  const health = async (own: number) =>
    start(healthCommand(lastOf(image, "HEALTHCHECK")), own).exit;

  /** Starts the image with its default arguments, as a container that is reachable under another address. */
  async function startContainer(own: number) {
    const words = ["ENTRYPOINT", "CMD"].flatMap((keyword) => lastOf(image, keyword)?.exec ?? []);
    const container = start([...words, "--port", String(own)], own);
    await until(() => container.output().includes("\n"), "the sandbox prints its URL");
    expect(container.output()).toBe(
      `The sandbox serves the interface at http://127.0.0.1:${own}\n`,
    );
    return container;
  }

  test("serves mapped ports, delivers to private addresses, and keeps its data in the volume", async () => {
    const own = await freePort();
    expect(await health(own)).toBe(1);
    const first = await startContainer(own);
    expect(await health(own)).toBe(0);

    // A published port connects to an address of the container other than loopback.
    const statuses = ["localhost:49153", "127.0.0.1:49153", "sandbox:4010", "evil.test"].map(
      async (host) => (await raw(`http://127.0.0.2:${own}`, "GET", "/", { host })).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 200, 403, 403]);

    const url = `http://127.0.0.1:${own}`;
    const register = async (receiver: string) => {
      const endpoint = { url: receiver, event_types: ["email.sent"] };
      return (await fetch(`${url}/v1/webhook-endpoints`, posted(endpoint))).status;
    };
    expect(await register("http://172.17.0.1:3000/webhooks")).toBe(201);
    expect(await register("http://169.254.169.254/latest")).toBe(400);
    expect(await register("https://93.184.215.14/webhooks")).toBe(400);
    expect(statSync(join(built.folder, "data/sandbox.db")).mode & 0o777).toBe(0o600);

    first.child.kill("SIGTERM");
    expect(await first.exit).toBe(0);
    expect(await health(own)).toBe(1);

    const second = await startContainer(own);
    expect(await health(own)).toBe(0);
    const endpoints = await fetch(`${url}/_sandbox/endpoints`);
    expect(await endpoints.text()).toContain("http://172.17.0.1:3000/webhooks");
    second.child.kill("SIGTERM");
    expect(await second.exit).toBe(0);
  });
});
