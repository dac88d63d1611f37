import { createSandbox } from "@svc-webhooks/sandbox";
import { Failure, messageOf, UsageError } from "../errors.js";
import { fetchFrom } from "../lib/fetch.js";
import { portOf, resolveTarget } from "../lib/target-rule.js";
import type { Target } from "../lib/target.js";
import { isOpen } from "./app.js";

/** The sandbox that a command uses. */
export interface UsedSandbox {
  readonly url: string;
  /** Closes the sandbox if the command started it. */
  readonly close: () => Promise<void>;
}

/** Does nothing: a sandbox that the command did not start stays open. */
const leave = async () => {};

/**
 * Resolves to the sandbox at `baseUrl`. Without `baseUrl`, resolves to the sandbox that already listens on the port, if
 * its clock advances by itself, and otherwise to a new one in this process.
 *
 * @param flag the name of the option or variable that `baseUrl` comes from
 * @param note receives a line if the command starts a sandbox
 * @param port the port of the sandbox; if it is 0 or in use, a new sandbox listens on a free port
 * @throws UsageError if `baseUrl` is not a URL on this machine, and Failure if nothing listens there (as rejections)
 */
export async function useSandbox(
  flag: string,
  baseUrl: string | undefined,
  port: number,
  note: (line: string) => void,
): Promise<UsedSandbox> {
  if (baseUrl !== undefined && baseUrl !== "") {
    const { url } = await targetHere(flag, baseUrl);
    if (!(await isOpen(url))) {
      throw new Failure(
        "connection_failed",
        `${flag} is ${baseUrl}, but nothing is listening there.`,
        `Remove ${flag} to let this command start a sandbox, or start one there with svc-webhooks sandbox --port ${portOf(url)}.`,
      );
    }
    return { url: baseUrl.replace(/\/+$/, ""), close: leave };
  }
  const running = `http://127.0.0.1:${port}`;
  if (port > 0 && (await isUsable(running))) return { url: running, close: leave };
  const sandbox = createSandbox();
  const { url } = await sandbox.listen(port).catch(() => sandbox.listen(0));
  note(`Started a sandbox at ${url}/.`);
  return { url, close: () => sandbox.close() };
}

async function targetHere(flag: string, baseUrl: string): Promise<Target> {
  // A host name without an address counts as another machine. Any other error is thrown, because it states what is
  // wrong with the URL.
  const target = await resolveTarget(flag, baseUrl, true).catch((error: unknown) => {
    if (/has no address/.test(messageOf(error))) return undefined;
    throw error;
  });
  if (target?.isHere === true) return target;
  throw new UsageError(
    `${flag} is ${baseUrl}, which is not a loopback address. This command registers endpoints and sends emails, so it works only with a sandbox on this machine.`,
    `Remove ${flag} to let this command start a sandbox.`,
  );
}

/** Returns whether a sandbox listens at the URL and its clock advances by itself. */
async function isUsable(url: string): Promise<boolean> {
  try {
    // Avoids the global `fetch`, which may use a proxy from the environment.
    const fetch = fetchFrom(await resolveTarget("The sandbox", url, false));
    const response = await fetch(`${url}/_sandbox/clock`, { signal: AbortSignal.timeout(2_000) });
    const { mode } = (await response.json()) as { readonly mode?: unknown };
    return mode === "real" || mode === "accelerated";
  } catch {
    return false;
  }
}
