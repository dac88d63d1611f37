import type { Context } from "../command.js";
import { Failure } from "../errors.js";
import { portOf } from "../lib/target-rule.js";
import { isOpen, startApp, type App } from "./app.js";
import type { LogLines } from "./log-lines.js";

/** The app that a command starts, and where it should listen. */
export interface Running {
  readonly to: URL;
  /** How long the app may take to listen, in milliseconds. */
  readonly waitMs: number;
  /** The variables that the app gets in addition to those of this process. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: LogLines;
  /** Called when the app has been started. */
  readonly onStart: () => void;
}

type Needed = Pick<Context, "args" | "env" | "stdout" | "stderr" | "urgent" | "json" | "note"> & {
  readonly signal: AbortSignal;
};

/** Starts the app, calls `use` once it listens, and stops it. Resolves to the result of `use`. */
export async function withApp<T>(
  context: Needed,
  { to, waitMs, env: more, log, onStart }: Running,
  use: (app: App) => Promise<T>,
): Promise<T> {
  const { args, env, signal, urgent, stdout, stderr, json, note } = context;
  const app = await startApp({
    command: args,
    log,
    env: { ...env, PORT: env["PORT"] ?? String(portOf(to)), ...more },
    stdout: json ? stderr : stdout,
    stderr,
    urgent,
  });
  try {
    onStart();
    note(`Waiting for your app to listen on port ${portOf(to)}.`);
    await app.listens(to, waitMs, signal).catch((error: unknown) => {
      throw withPortOf(env, to, error);
    });
    return await use(app);
  } finally {
    await app.stop();
    if (await isOpen(to)) {
      note(
        `Port ${portOf(to)} is still in use, probably by a process that your app started in another session.`,
      );
    }
  }
}

/** Reports how the app has ended. Returns the exit code of the command. */
export function exitCodeOf({ note }: Pick<Context, "note">, end: string, { isHeld }: App): 0 | 1 {
  note(`Your app ended with ${end}.`);
  if (isHeld()) {
    note(
      "A process that your app started still holds the app's output open. Run your app in the foreground.",
    );
    return 1;
  }
  return end === "exit code 0" ? 0 : 1;
}

/**
 * Replaces the fix in `app_not_listening` if PORT in the environment differs from the port of `to`, because the app
 * then probably uses PORT.
 */
function withPortOf({ PORT }: Context["env"], to: URL, error: unknown): unknown {
  const isOther = PORT !== undefined && PORT !== "" && PORT !== String(portOf(to));
  if (!isOther || !(error instanceof Failure) || error.code !== "app_not_listening") return error;
  const fix = `PORT is ${PORT} in your environment. Unset it, or pass --to http://localhost:${PORT}${to.pathname}.`;
  return new Failure(error.code, error.message, fix);
}
