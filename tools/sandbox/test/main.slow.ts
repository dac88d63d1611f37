import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { testLinux, testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, onTestFinished, test } from "vitest";
import { outputFrom } from "@svc-webhooks/kit/collected";
import { gate } from "@svc-webhooks/kit/gate";
import { emptyFolder, opener } from "@svc-webhooks/kit/opener";
import { node, outsideDirectory, root } from "@svc-webhooks/kit/programs";
import { until } from "@svc-webhooks/kit/until";
import { posted } from "./support.js";

const main = join(root, "tools/sandbox/dist/main.js");

/** Runs the command to its end. */
async function run(...args: readonly string[]) {
  const result = promisify(execFile)(process.execPath, [main, ...args]);
  return result.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}

describe("wrong usage prints one line and exits with 2", () => {
  test.each([
    ["an unknown option", ["--prot", "1"], /--help/],
    ["a port that is not a number", ["--port", "web"], /--port must be/],
    ["an address that is not offered", ["--bind", "192.0.2.1"], /--bind must be/],
    ["an assumption without a value", ["--set", "A-06"], /--set must have the form A-nn=value/],
    ["an assumption that does not exist", ["--set", "A-99=x"], /A-99/],
    ["a value that does not exist", ["--set", "A-06=no"], /warn, reject, allow/],
    ["a clock that does not exist", ["--clock", "slow"], /--clock must be/],
    ["a mail server elsewhere", ["--smtp", "smtp://mail.example.test:25"], /127\.0\.0\.1:1025/],
  ])("%s", async (_what, args, text) => {
    const { code, stdout, stderr } = await run(...args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^svc-webhooks sandbox: [^\n]+\n$/);
    expect(stderr).toMatch(text);
  });
});

test("a port in use exits with 1 and the fix", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const { code, stderr } = await run("--port", String(port));
  expect([code, stderr]).toEqual([
    1,
    `svc-webhooks sandbox: Port ${port} is in use. Choose another port, or use 0 to select a free one.\n`,
  ]);
});

test("--help lists the options, --assumptions all assumptions as they are set", async () => {
  expect((await run("--help")).stdout).toMatch(/--data <file>/);
  const { stdout } = await run("--assumptions", "--set", "A-06=reject");
  expect(stdout.match(/^A-\d\d /gm)).toHaveLength(28);
  expect(stdout).toContain("A-06  domain.unverifiedFrom: reject (default warn; also allow)\n");
  expect(stdout).toContain("A-08  delivery.states: four (default)\n");
  expect(stdout).toContain("A-21  endpoint.urls: loopback (default; also private, strict)\n");
});

test("--json makes the assumptions a list", async () => {
  const { stdout } = await run("--assumptions", "--json", "--set", "A-06=reject");
  const list = JSON.parse(stdout) as readonly unknown[];
  expect(list).toHaveLength(28);
  expect(list).toContainEqual(expect.objectContaining({ id: "A-06", value: "reject" }));
});

test("-h is --help, and --version prints the version of the package", async () => {
  expect(await run("-h")).toEqual(await run("--help"));
  const { version } = JSON.parse(
    readFileSync(join(root, "tools/sandbox/package.json"), "utf8"),
  ) as { readonly version: string };
  expect(await run("--version")).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

interface Start {
  readonly nodeOptions?: readonly string[];
  readonly args?: readonly string[];
  readonly path?: string;
}

/** Starts the command, until the test ends. */
async function started({ nodeOptions = [], args = [], path = process.env["PATH"] }: Start = {}) {
  const child = spawn(
    process.execPath,
    [...nodeOptions, main, "--port", "0", "--set=A-06=allow", ...args],
    { env: { ...process.env, PATH: path } },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = outputFrom(child);
  const exited = once(child, "close").then(([code]: (number | null)[]) => code);
  const isEnded = () => (child.exitCode ?? child.signalCode) !== null;
  const isStarted = () => output.stdout.includes("\n");
  await until(() => isStarted() || isEnded(), "the command prints its first line");
  const url = /http:[^\s"]+/.exec(output.stdout)?.[0] ?? "";
  return { child, url, output, exited };
}

// Linux answers on all of 127.0.0.0/8, so that 127.0.0.2 stands for another address of the machine.
testLinux(
  "listens on 127.0.0.1 only, or with --bind 0.0.0.0 on each address, and checks the host there too",
  async () => {
    const elsewhere = async (...args: string[]) => {
      const { url } = await started({ args });
      return fetch(url.replace("127.0.0.1", "127.0.0.2")).then(
        ({ status }) => status,
        () => "refused",
      );
    };
    expect(await elsewhere()).toBe("refused");
    expect(await elsewhere("--bind", "0.0.0.0")).toBe(403);
    expect(await elsewhere("--bind", "0.0.0.0", "--allow-host", "127.0.0.2")).toBe(200);
  },
);

testPosix("Ctrl-C does not wait for an attempt that hangs", async () => {
  const called = gate();
  const hanging = createHttpServer(() => called.open()).listen(0, "127.0.0.1");
  onTestFinished(() => {
    hanging.close();
    hanging.closeAllConnections();
  });
  await once(hanging, "listening");
  const { child, url, output, exited } = await started({ args: ["--set=A-10=timeout:1h"] });
  const post = (path: string, body: object) => fetch(url + path, posted(body));
  const { port } = hanging.address() as AddressInfo;
  await post("/v1/webhook-endpoints", {
    url: `http://127.0.0.1:${port}/`,
    event_types: ["email.sent"],
  });
  await post("/v1/emails", { from: "a@a.test", to: ["b@b.test"], subject: "s", text: "t" });
  await called.opened;
  child.kill("SIGINT");
  expect([await exited, output.stderr]).toEqual([130, ""]);
});

// Under npx, one Ctrl-C causes two signals.
testPosix(
  "a second Ctrl-C ends a stop that takes long, but two signals in a row do not",
  async () => {
    const stuck = "import { Server } from 'node:http'; Server.prototype.close = () => {};";
    const { child, output, exited } = await started({
      nodeOptions: ["--import", `data:text/javascript,${stuck}`],
    });
    child.kill("SIGINT");
    child.kill("SIGTERM");
    await until(
      () => output.stderr.includes("\n") || child.exitCode !== null,
      "the command reports that it is stopping",
    );
    expect(output.stderr).toBe("Stopping. Press Ctrl-C again to stop immediately.\n");
    child.kill("SIGINT");
    expect(await exited).toBe(130);
  },
);

describe("--open", () => {
  testPosix("opens the page, in a process that Ctrl-C does not reach", async () => {
    const { path, opened } = opener();
    const { child, url, output, exited } = await started({ args: ["--open"], path });
    expect(await opened()).toEqual({ args: `${url}/`, isDetached: true });
    child.kill("SIGINT");
    expect([await exited, output.stderr]).toEqual([130, ""]);
  });

  testPosix("opens the page with --json too, and prints nothing more", async () => {
    const { path, opened } = opener();
    const { child, url, output, exited } = await started({
      args: ["--open", "--json"],
      path,
    });
    expect(await opened()).toMatchObject({ args: `${url}/` });
    child.kill("SIGTERM");
    await exited;
    expect({ ...output }).toEqual({ stdout: `{"url":"${url}"}\n`, stderr: "" });
  });

  testPosix.each([
    ["without a program that opens it", emptyFolder, /^\S+ was not found/],
    ["if that program fails", () => opener(3).path, /^\S+ failed with exit code 3/],
  ])("prints the address %s, and serves", async (_case, pathOf, how) => {
    const { child, url, output, exited } = await started({ args: ["--open"], path: pathOf() });
    await until(
      () => output.stderr.includes("\n"),
      "the command reports that it opened no browser",
    );
    const [, text = ""] = /^svc-webhooks sandbox: (.*)\n$/.exec(output.stderr) ?? [];
    expect(text).toMatch(how);
    expect(text).toMatch(new RegExp(` Open ${url}/ in a browser yourself\\.$`));
    expect((await fetch(url)).status).toBe(200);
    child.kill("SIGTERM");
    expect(await exited).toBe(0);
  });
});

test("npm run sandbox reports that npm ci is missing", async () => {
  const copy = join(outsideDirectory(), "tools/build/start.js");
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(join(root, "tools/build/start.js"), copy);
  expect(await node([copy, "sandbox"], { cwd: dirname(copy) })).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "Run npm ci first.\n",
  });
});
