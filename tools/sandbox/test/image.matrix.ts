import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { collected } from "@svc-webhooks/kit/collected";
import { freePort } from "@svc-webhooks/kit/free-port";
import { outsideDirectory, root } from "@svc-webhooks/kit/programs";
import { testLinux } from "@svc-webhooks/kit/systems";
import { until } from "@svc-webhooks/kit/until";
import { commandOptions } from "@svc-webhooks/sandbox/command";
import { expect, onTestFinished } from "vitest";
import { wordsOf } from "./dockerfile.js";
import { raw } from "./http/raw-request.js";
import { posted } from "./support.js";

// The program runs with the arguments of the image, but with this Node and this workspace: no container engine runs here.

const data = outsideDirectory();

/** Runs a command of the image on another port until it exits or the test ends. */
function start(command: readonly string[], port: number) {
  const [program, ...args] = command.map((word) =>
    word.replace(/^\/data\//, `${data}/`).replace(`:${commandOptions.port.default}/`, `:${port}/`),
  );
  expect(program).toBe("node");
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = collected(child.stdout);
  const exit = once(child, "exit").then(([code]: (number | null)[]) => code);
  return { child, exit, output };
}

// A container runs Linux, which answers on all of 127.0.0.0/8.
testLinux(
  "the image serves mapped ports, delivers to private addresses, and keeps its data",
  async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const health = () => start(wordsOf("HEALTHCHECK"), port).exit;
    const startImage = async () => {
      const words = [...wordsOf("ENTRYPOINT"), ...wordsOf("CMD"), "--port", String(port)];
      const started = start(words, port);
      await until(() => started.output().includes("\n"), "the sandbox prints its URL");
      expect(started.output()).toBe(`The sandbox serves the interface at ${url}\n`);
      return started;
    };
    expect(await health()).toBe(1);
    const first = await startImage();
    expect(await health()).toBe(0);

    // A published port connects to an address of the container other than loopback.
    const statuses = ["localhost:49153", "127.0.0.1:49153", "sandbox:4010", "evil.test"].map(
      async (host) => (await raw(`http://127.0.0.2:${port}`, "GET", "/", { host })).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 200, 403, 403]);

    const register = async (receiver: string) => {
      const endpoint = { url: receiver, event_types: ["email.sent"] };
      return (await fetch(`${url}/v1/webhook-endpoints`, posted(endpoint))).status;
    };
    expect(await register("http://172.17.0.1:3000/webhooks")).toBe(201);
    expect(await register("http://169.254.169.254/latest")).toBe(400);
    expect(await register("https://93.184.215.14/webhooks")).toBe(400);
    expect(wordsOf("VOLUME")).toEqual(["/data"]);
    expect(statSync(join(data, "sandbox.db")).mode & 0o777).toBe(0o600);

    first.child.kill("SIGTERM");
    expect(await first.exit).toBe(0);
    expect(await health()).toBe(1);

    const second = await startImage();
    const endpoints = await fetch(`${url}/_sandbox/endpoints`);
    expect(await endpoints.text()).toContain("http://172.17.0.1:3000/webhooks");
    second.child.kill("SIGTERM");
    expect(await second.exit).toBe(0);
  },
);
