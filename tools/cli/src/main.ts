import { getEventListeners } from "node:events";
import { importedModules } from "./lib/module.js";
import { reportEnded, run } from "./run.js";

/** How long a command may take to stop before a note is printed, in milliseconds. */
const noticedMs = 500;

/**
 * How long after the first signal another one is ignored, in milliseconds. Under npx, one Ctrl-C causes two signals:
 * the terminal's, and the one that npx forwards.
 */
const sameMs = 250;

/** How long a command that listens to `urgent` may take to stop after the second signal, in milliseconds. */
const urgentMs = 2_000;

const controller = new AbortController();
const urgent = new AbortController();
let signalCode: number | undefined;
let firstAt = 0;

// The first signal stops the command. A second one, more than `sameMs` later, ends the process within `urgentMs`.
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  process.on(signal, () => {
    if (signalCode !== undefined) {
      if (performance.now() - firstAt > sameMs) endNow(code);
      return;
    }
    signalCode = code;
    firstAt = performance.now();
    setTimeout(() => {
      process.stderr.write("Stopping. Press Ctrl-C again to stop immediately.\n");
    }, noticedMs).unref();
    controller.abort();
  });
}

function endNow(code: number): void {
  const { signal } = urgent;
  if (signal.aborted || getEventListeners(signal, "abort").length === 0) process.exit(code);
  setTimeout(() => process.exit(code), urgentMs);
  urgent.abort();
}

let outputFailed = false;

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    controller.abort();
    // Does not report a second error, or a closed pipe, which is normal for `svc-webhooks listen | head`.
    if (error.code === "EPIPE" || outputFailed) return;
    outputFailed = true;
    process.stderr.write(`svc-webhooks: the output could not be written: ${error.message}.\n`);
  });
}

/** Resolves when all output to a stream has been written, or writing has failed. */
const flushed = (stream: NodeJS.WriteStream) =>
  new Promise<unknown>((resolve) => stream.write("", () => setImmediate(resolve)));

// This timer keeps the process alive while `run` is pending. Otherwise, Node could exit with code 13 in the meantime.
setInterval(() => {}, 60_000);

const { env, stdin, stdout, stderr } = process;
const words = process.argv.slice(2);

let hasThrown = false;
process.on("uncaughtExceptionMonitor", () => (hasThrown = true));

/**
 * Replaces the exit code if the process exits after the import of a user's module has started, but before the command
 * has ended. The module has probably called `process.exit()`, and its exit code would look like the command's result.
 */
function onExit(exitCode: number): void {
  if (importedModules.length === 0) return;
  // After an uncaught error, a nonzero exit code stays, because Node has already printed the error.
  if (signalCode !== undefined) process.exitCode = signalCode;
  else if (exitCode === 0 || !hasThrown) process.exitCode = reportEnded(words, { stderr });
}

process.on("exit", onExit);
const code = await run(words, {
  env,
  stdin,
  stdout,
  stderr,
  signal: controller.signal,
  urgent: urgent.signal,
});
await Promise.all([stdout, stderr].map(flushed));
process.off("exit", onExit);
process.exitCode = signalCode ?? (outputFailed ? 1 : code);
// Exits explicitly: the timer, interrupted work or connections of an imported module would keep the process alive.
process.exit();
