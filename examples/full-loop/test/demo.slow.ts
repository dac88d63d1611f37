import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, onTestFinished, test } from "vitest";
import { collected } from "@svc-webhooks/kit/collected";
import { npm } from "@svc-webhooks/kit/npm";
import { emptyFolder, opener } from "@svc-webhooks/kit/opener";
import { node, root } from "@svc-webhooks/kit/programs";
import { until } from "@svc-webhooks/kit/until";

const demo = join(root, "examples/full-loop/dist/demo.js");

describe("npm run demo", () => {
  const output = npm(["run", "-s", "demo"], { cwd: root });

  test.each([
    ["a failed handler is retried", /500 handler_failed\n(.*\n){1,3}.*attempt 2 .* 200 processed/],
    ["a concurrent copy waits", /503 in_flight/],
    [
      "a delivery that failed is redelivered",
      /attempt 5 .* 500 handler_failed\n(.*\n)+.*:redeliver +202\n(.*\n)+.*attempt 6 .* 200 processed/,
    ],
    ["a rotation loses nothing", /40 events handled, [1-9]\d* attempts refused on the way, 0 lost/],
    ["a forged signature is refused", /401 signature_mismatch/],
    ["a copy is recognized", /200 duplicate/],
    [
      "what is stored runs once, in order, after a kill",
      /200 enqueued\n(.*\n)+ +It runs Receipt 1, Receipt 2, Receipt 3\.\n.* 200 enqueued\n.*not run again/,
    ],
    ["the page is named", /^Watch it in a browser: http:\/\/127\.0\.0\.1:\d+\/$/m],
    ["each event is handled once", /^26 emails, 52 events: 52 handled exactly once\.$/m],
  ])("%s", async (_fact, line) => {
    expect((await output).stdout).toMatch(line);
  });

  test("prints a timeline that fits on a screen, and no warning", async () => {
    const { stdout, stderr } = await output;
    expect(stderr).toMatch(/^(svc-webhooks sandbox: .*\n)*$/);
    expect(stdout.split("\n").filter((line) => line.length > 90)).toEqual([]);
  });
});

/** Starts the demo, until the test ends. `path` is its `PATH`. */
function started(args: readonly string[], path: string) {
  const child = spawn(process.execPath, [demo, ...args], { env: { ...process.env, PATH: path } });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = collected(child.stdout);
  const exited = once(child, "close") as Promise<[code: number | null, signal: string | null]>;
  const shows = async (wanted: RegExp) => {
    await until(() => wanted.test(output()), `the demo prints ${String(wanted)}`);
    return wanted.exec(output())?.[1] ?? "";
  };
  return {
    shows,
    output,
    page: () => shows(/^Watch it in a browser: (\S+)\n/m),
    /** Returns the output after the scenes. */
    after: () => output().split("keeps running until Ctrl-C")[1] ?? "",
    stop: (signal: NodeJS.Signals) => {
      child.kill(signal);
      return exited;
    },
  };
}

/** Occupies the port that the command line calls, unless another program has it. */
async function takeUsualPort() {
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(4010, "127.0.0.1", () => resolve(true));
  });
  const release = () => new Promise((resolve) => server.close(resolve));
  return { isFree, release };
}

describe("--serve keeps everything running", () => {
  testPosix(
    "for emails from the page, until Ctrl-C, on the command line's port if it is free",
    async () => {
      const { isFree, release } = await takeUsualPort();
      await release();
      const { shows, page, output, after, stop } = started(["--serve"], emptyFolder());
      const url = await page();
      expect(url === "http://127.0.0.1:4010/").toBe(isFree);
      expect(await shows(/^Everything keeps running until Ctrl-C\. .* (http\S+)\n/m)).toBe(url);
      const send = (body: object) =>
        fetch(`${url}_sandbox/test-email`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        });
      expect((await send({})).status).toBe(202);
      const handled = /^.*←  email\.\w+, attempt 1 +200 processed$/gm;
      await until(() => after().match(handled)?.length === 2, "both events are handled");
      expect((await send({ subject: "Broken" })).status).toBe(202);
      const failed = /^.*←  email\.\w+, attempt \d +500 handler_failed$/gm;
      await until(() => (after().match(failed)?.length ?? 0) > 2, "the service tries again");
      const html = await (await fetch(url, { headers: { accept: "text/html" } })).text();
      for (const named of ["Send a test email", ">…<", 'name="subject"'])
        expect(html).toContain(named);
      expect(await stop("SIGINT")).toEqual([0, null]);
      // The demo has not looked for a browser.
      expect(output()).not.toContain("was not found");
    },
  );
});

describe("--open", () => {
  testPosix(
    "opens the page during the scenes, on a free port, until SIGTERM, although a page is connected",
    async () => {
      const { release } = await takeUsualPort();
      onTestFinished(() => void release());
      const { path, opened } = opener();
      const { shows, page, after, stop } = started(["--open"], path);
      expect(await opened()).toEqual({ args: await page(), isDetached: true });
      expect(after()).toBe("");
      expect(new URL(await page()).port).not.toBe("4010");
      await shows(/(keeps running) until Ctrl-C/);
      const stream = await fetch(`${await page()}_sandbox/stream`);
      expect(stream.status).toBe(200);
      expect(await stop("SIGTERM")).toEqual([0, null]);
      await expect(stream.text()).rejects.toThrow(/terminated/);
    },
  );

  test("prints one line if no browser can be opened, and plays the scenes", async () => {
    const { shows, page } = started(["--open"], emptyFolder());
    const lines = await shows(/^(.* was not found\. .*\n)[^]*handler_failed/m);
    expect(lines).toMatch(new RegExp(`^\\S+ was not found\\. Open ${await page()} in a browser `));
  });
});

test("--help lists the options", async () => {
  const { exitCode, stdout } = await node([demo, "--help"], { cwd: root });
  expect(exitCode).toBe(0);
  expect(stdout.match(/^ {2}--\w+/gm)).toEqual(["  --serve", "  --open", "  --help"]);
});

test.each([
  ["an unknown option", "--sevre", "Unknown option '--sevre'"],
  ["a value", "--serve=yes", "Option '--serve' does not take an argument"],
  ["an argument", "serve", "Unexpected argument 'serve'"],
])("%s is refused with the known options, before anything starts", async (_what, arg, text) => {
  expect(await node([demo, arg], { cwd: root })).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: `${text}. The options are --serve, --open and --help.\n`,
  });
});
