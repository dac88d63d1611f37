import { createSandbox } from "@svc-webhooks/sandbox";
import { UsageError } from "../errors.js";
import { resolveTarget } from "../lib/target-rule.js";

/** The sandbox that a command uses. */
export interface UsedSandbox {
  readonly url: string;
  /** Closes the sandbox if the command started it. */
  readonly close: () => Promise<void>;
}

/** Does nothing: a sandbox that the command did not start stays open. */
const leave = async () => {};

/**
 * Returns the sandbox at `given`. Without it, returns the one that already listens on the port, or a new one in this
 * process.
 *
 * @param flag the name of the option or variable that `given` comes from
 * @param port the port of the sandbox; if it is 0 or taken by another program, a new sandbox listens on a free port
 * @throws UsageError (as a rejection) if `given` is not on this machine
 */
export async function useSandbox(
  flag: string,
  given: string | undefined,
  port: number,
): Promise<UsedSandbox> {
  if (given !== undefined && given !== "") {
    await assertHere(flag, given);
    return { url: given.replace(/\/+$/, ""), close: leave };
  }
  const running = `http://127.0.0.1:${port}`;
  if (port > 0 && (await isUsable(running))) return { url: running, close: leave };
  const sandbox = createSandbox();
  const { url } = await sandbox.listen(port).catch(() => sandbox.listen(0));
  return { url, close: () => sandbox.close() };
}

async function assertHere(flag: string, given: string): Promise<void> {
  // A name that cannot be resolved is not this machine either.
  const target = await resolveTarget(flag, given, true).catch(() => undefined);
  if (target?.isHere === true) return;
  throw new UsageError(
    `${flag} is ${given}, which is not on this machine. This command registers endpoints and sends emails, so it uses a sandbox only.`,
    `Remove ${flag}: this command then starts a sandbox.`,
  );
}

/** Returns whether a sandbox listens at the URL and its clock advances by itself. */
async function isUsable(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/_sandbox/clock`, { signal: AbortSignal.timeout(2_000) });
    const { mode } = (await response.json()) as { readonly mode?: unknown };
    return mode === "real" || mode === "accelerated";
  } catch {
    return false;
  }
}
