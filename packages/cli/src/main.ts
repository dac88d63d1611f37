import { run } from "./run.js";

/** How long a command may take to stop before a note is printed, in milliseconds. */
const noticedMs = 500;

const controller = new AbortController();
let signalCode: number | undefined;

/** The first signal stops the command; a second one ends the process immediately. */
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  process.on(signal, () => {
    if (signalCode !== undefined) process.exit(code);
    signalCode = code;
    setTimeout(() => {
      process.stderr.write("Stopping. Press Ctrl-C again to stop immediately.\n");
    }, noticedMs).unref();
    controller.abort();
  });
}

let outputFailed = false;

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    controller.abort();
    // `svc-webhooks listen | head` closes the pipe early, so nothing reads the rest of the output.
    if (error.code === "EPIPE" || outputFailed) return;
    outputFailed = true;
    process.stderr.write(`svc-webhooks: The output could not be written: ${error.message}.\n`);
  });
}

/** Resolves when all output has been written, or writing has failed. */
const flushed = (stream: NodeJS.WriteStream) =>
  new Promise<unknown>((resolve) => stream.write("", () => setImmediate(resolve)));

const { env, stdin, stdout, stderr } = process;
const code = await run(process.argv.slice(2), {
  env,
  stdin,
  stdout,
  stderr,
  signal: controller.signal,
});
await Promise.all([stdout, stderr].map(flushed));
process.exitCode = signalCode ?? (outputFailed ? 1 : code);
// The interrupted work may still keep the process alive.
if (controller.signal.aborted) process.exit();
