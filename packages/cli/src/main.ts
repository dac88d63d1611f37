import { run } from "./run.js";

/** Milliseconds after which stopping is noticed. */
const noticedMs = 500;

const controller = new AbortController();
let signalCode: number | undefined;

/** The first signal stops the command; a second one ends the process immediately. */
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
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

// `svc-webhooks listen | head` closes the pipe early: nobody reads the rest.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", () => controller.abort());
}

const flushed = (stream: NodeJS.WriteStream) =>
  new Promise<unknown>((resolve) => stream.write("", resolve));

const { env, stdin, stdout, stderr } = process;
const code = await run(process.argv.slice(2), {
  env,
  stdin,
  stdout,
  stderr,
  signal: controller.signal,
});
process.exitCode = signalCode ?? code;
if (controller.signal.aborted) {
  // What was interrupted may still hold the process.
  await Promise.all([stdout, stderr].map(flushed));
  process.exit();
}
