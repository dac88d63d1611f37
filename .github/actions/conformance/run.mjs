import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";

/*
 * The program of `action.yml`, which passes the inputs in the environment: starts the receiver, runs
 * `svc-webhooks conformance` on it, and adds the report to the summary of the step. Exits with the code of the command.
 */

const secretName = "CONFORMANCE_SECRET";

/** Milliseconds after which a receiver that ignores SIGTERM is killed. */
const patienceMs = 5_000;

const isWindows = process.platform === "win32";

/** The command that runs npx. On Windows, it is a batch file, which `spawn` does not start. */
const npx = isWindows
  ? [process.execPath, join(dirname(process.execPath), "node_modules/npm/bin/npx-cli.js")]
  : ["npx"];

class InputError extends Error {}

/** Returns an input. */
function input(name, isValid, fix) {
  const value = process.env[`CONFORMANCE_${name.toUpperCase().replaceAll("-", "_")}`] ?? "";
  if (!isValid(value)) throw new InputError(`The input \`${name}\` ${fix}`);
  return value;
}

const optional = () => true;
const isNumber = (value) => /^\d{1,5}$/.test(value);

function readInputs() {
  return {
    url: input(
      "url",
      (value) => /^https?:\/\/./.test(value) && URL.canParse(value),
      "must be the http or https URL of the receiver.",
    ),
    secret: input(
      "secret",
      (value) => value !== "",
      "is empty. Pass the receiver's signing secret.",
    ),
    version: input(
      "version",
      (value) => /^\d+\.\d+\.\d+[\w.+-]*$/.test(value),
      "must be a whole version of svc-webhooks, such as 1.2.3.",
    ),
    scheme: input("scheme", (value) => /^[\w-]*$/.test(value), "must be the name of a sender."),
    start: input("start", optional),
    timeout: input("start-timeout", isNumber, "must be a number of seconds."),
    handlerPort: input(
      "handler-port",
      (value) => value === "" || isNumber(value),
      "must be a port.",
    ),
  };
}

/** Starts the receiver in a process group of its own, so that `stop` also ends what the shell has started. */
function startReceiver(command) {
  const env = { ...process.env };
  // The receiver has its own secret.
  delete env[secretName];
  const shell = spawn(command, {
    shell: true,
    detached: !isWindows,
    stdio: ["ignore", "inherit", "inherit"],
    env,
  });
  const hasExited = () => shell.exitCode !== null || shell.signalCode !== null;
  const end = (signal) => {
    if (shell.pid === undefined) return;
    if (isWindows) {
      spawnSync("taskkill", ["/pid", String(shell.pid), "/t", "/f"], { stdio: "ignore" });
      return;
    }
    try {
      process.kill(-shell.pid, signal);
    } catch {
      // It has exited.
    }
  };
  return {
    hasExited,
    async stop() {
      end("SIGTERM");
      if (hasExited()) return;
      const timer = setTimeout(end, patienceMs, "SIGKILL");
      await once(shell, "exit");
      clearTimeout(timer);
    },
  };
}

/** Returns whether a server accepts connections at the URL's host and port within this number of milliseconds. */
async function accepts({ hostname, port, protocol }, ms) {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const socket = connect({ host, port: Number(port) || (protocol === "https:" ? 443 : 80) });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(ms) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function untilListening(url, seconds, receiver) {
  const end = Date.now() + seconds * 1_000;
  // Each attempt may take a second, also the last one.
  while (!(await accepts(url, Math.max(end - Date.now(), 1_000)))) {
    if (receiver?.hasExited())
      throw new InputError(
        "The command of the input `start` exited before the receiver accepted connections.",
      );
    if (Date.now() > end)
      throw new InputError(
        `The receiver did not accept connections at ${url.host} within ${seconds} seconds. Check \`url\`, or raise \`start-timeout\`.`,
      );
    await delay(100);
  }
}

function reportIn(output) {
  try {
    return JSON.parse(output);
  } catch (error) {
    throw new InputError(
      `svc-webhooks printed no report. Check \`version\`. The output begins with ${JSON.stringify(output.slice(0, 100))}.`,
      { cause: error },
    );
  }
}

async function conformance({ url, version, scheme, handlerPort }) {
  const options = ["--secret-env", secretName, "--json"];
  if (scheme !== "") options.push("--scheme", scheme);
  if (handlerPort !== "") options.push("--handler-port", handlerPort);
  const [program, ...first] = npx;
  const command = spawn(
    program,
    [...first, "--yes", `@svc-webhooks/cli@${version}`, "conformance", url, ...options],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const exit = once(command, "close");
  const output = await text(command.stdout);
  const [code] = await exit;
  return { code: code ?? 1, report: output === "" ? undefined : reportIn(output) };
}

/** Returns a text on one line that Markdown shows as it is. The receiver may have chosen a part of it. */
const plain = (value) =>
  value
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\\`*_{}[\]<>|#&~]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const words = { passed: "passed", failed: "**failed**", not_applicable: "not judged" };

function summaryOf({ url, conforms, results }) {
  const rows = results.map(
    ({ title, level, status, reason }) =>
      `| ${words[status]} | ${level} | ${plain(title)} | ${plain(status === "failed" ? (reason ?? "") : "")} |`,
  );
  const verdict = conforms
    ? "The receiver passes every case that is a must and was judged."
    : "The receiver does not conform.";
  const head = ["| result | level | case | reason |", "| --- | --- | --- | --- |"];
  return [`### Conformance of ${plain(url)}`, "", verdict, "", ...head, ...rows, ""].join("\n");
}

function show(report) {
  for (const { title, level, status, reason = "" } of report.results)
    if (status === "failed")
      process.stdout.write(`FAIL  ${level}  ${title}: ${reason.replaceAll(/\s+/g, " ")}\n`);
  process.stdout.write(
    `Conforms: ${report.conforms ? "yes" : "no"}. The summary contains each case.\n`,
  );
  if (process.env.GITHUB_STEP_SUMMARY)
    appendFileSync(process.env.GITHUB_STEP_SUMMARY, summaryOf(report));
}

async function main() {
  const inputs = readInputs();
  const receiver = inputs.start === "" ? undefined : startReceiver(inputs.start);
  try {
    await untilListening(new URL(inputs.url), Number(inputs.timeout), receiver);
    const { code, report } = await conformance(inputs);
    if (report) show(report);
    return code;
  } finally {
    await receiver?.stop();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof InputError)) throw error;
  process.stdout.write(`::error::${error.message}\n`);
  process.exitCode = 2;
}
