import { createSandbox } from "@svc-webhooks/sandbox";
import { UsageError } from "../errors.js";
import { resolveTarget } from "../lib/target-rule.js";

/** The sandbox that a command uses. */
export interface UsedSandbox {
  readonly url: string;
  /** Closes the sandbox if the command has started it. */
  readonly close: () => Promise<void>;
}

const usualPort = 4010;

/** Leaves a sandbox open that the command has not started. */
const leave = async () => {};

/**
 * Returns the sandbox at `given`, else the one at its usual address, else a new one in this process.
 *
 * @param flag the name of the option or variable that `given` comes from
 * @throws UsageError (as a rejection) if `given` is not on this machine
 */
export async function useSandbox(flag: string, given: string | undefined): Promise<UsedSandbox> {
  if (given !== undefined && given !== "") {
    await assertHere(flag, given);
    return { url: given.replace(/\/+$/, ""), close: leave };
  }
  const usual = `http://127.0.0.1:${usualPort}`;
  if (await isSandbox(usual)) return { url: usual, close: leave };
  const sandbox = createSandbox();
  const { url } = await sandbox.listen(usualPort).catch(() => sandbox.listen(0));
  return { url, close: () => sandbox.close() };
}

async function assertHere(flag: string, given: string): Promise<void> {
  // A name without an address is not this machine either.
  const target = await resolveTarget(flag, given, true).catch(() => undefined);
  if (target?.isHere === true) return;
  throw new UsageError(
    `${flag} is ${given}, which is not on this machine. This command registers endpoints and sends emails, so it uses a sandbox only.`,
    `Remove ${flag}: this command then starts a sandbox.`,
  );
}

async function isSandbox(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/_sandbox/clock`, { signal: AbortSignal.timeout(2_000) });
    return response.ok && "now" in ((await response.json()) as object);
  } catch {
    return false;
  }
}
