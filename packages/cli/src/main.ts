import { getEventListeners } from "node:events";
import { importedModules } from "./lib/module.js";
import { reportEnded, run } from "./run.js";

/** How long a command may take to stop before a note is printed, in milliseconds. */
const noticedMs = 500;

/** How soon after the first signal another one is the same Ctrl-C, which npx passes on, in milliseconds. */
const sameMs = 250;

/** How long a command that listens to `urgent` may take after the second signal, in milliseconds. */
const urgentMs = 2_000;

const controller = new AbortController();
const urgent = new AbortController();
let signalCode: number | undefined;
let firstAt = 0;

/** The first signal stops the command. A second one ends the process, as soon as the command allows it. */
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
    // `svc-webhooks listen | head` closes the pipe early, so nothing reads the rest of the output.
    if (error.code === "EPIPE" || outputFailed) return;
    outputFailed = true;
    process.stderr.write(`svc-webhooks: the output could not be written: ${error.message}.\n`);
  });
}

/** Resolves when all output has been written, or writing has failed. */
const flushed = (stream: NodeJS.WriteStream) =>
  new Promise<unknown>((resolve) => stream.write("", () => setImmediate(resolve)));

// Without a timer, Node ends a process that has nothing to do although `run` is pending, with the code 13 and no output.
setInterval(() => {}, 60_000);

const { env, stdin, stdout, stderr } = process;
const words = process.argv.slice(2);

let hasThrown = false;
process.on("uncaughtExceptionMonitor", () => (hasThrown = true));

/** A module of the user may call `process.exit()`, whose code would be read as the result of the command. */
function onExit(exitCode: number): void {
  if (importedModules.length === 0) return;
  // Node has printed an uncaught error, and exits with 1.
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
// Interrupted work, and connections of a module that the command imported, may keep the process alive.
process.exit();
