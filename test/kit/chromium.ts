import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type Browser, type BrowserContext } from "playwright-core";
import { NotStartedError } from "./setup-errors.js";

/**
 * The path of the system's `chromium-headless-shell`, which takes a third of the processor time, or else of
 * `chromium`. Undefined if neither is on `PATH`.
 */
export const chromiumPath: string | undefined = ["chromium-headless-shell", "chromium"]
  .flatMap((name) =>
    (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name)),
  )
  .find(isExecutable);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface ChromiumOptions {
  /** Addresses that lead to others: `{ "127.0.0.1:4010": "127.0.0.1:35541" }`. Default: none. */
  readonly addresses?: Readonly<Record<string, string>> | undefined;
}

/**
 * Starts the system's Chromium without a window. It reaches 127.0.0.1 and localhost, and no other host.
 *
 * @throws Error if it is not installed, or does not start
 */
export async function launchChromium({ addresses = {} }: ChromiumOptions = {}): Promise<Browser> {
  return chromium.launch(settings(addresses)).catch(notStarted);
}

/**
 * Starts the same Chromium with a new profile, as a person has one. A context of {@link launchChromium} is
 * incognito, and there Chromium connects to no host ahead of a request.
 *
 * @throws Error if it is not installed, or does not start
 */
export async function openProfile(): Promise<BrowserContext> {
  return chromium.launchPersistentContext("", settings({})).catch(notStarted);
}

function notStarted(cause: unknown): never {
  throw new NotStartedError("Chromium did not start.", { cause });
}

function settings(addresses: Readonly<Record<string, string>>) {
  if (chromiumPath === undefined) throw new Error("chromium is not installed.");
  const mapped = Object.entries({ ...addresses, "127.0.0.1": "127.0.0.1", localhost: "127.0.0.1" });
  // The first matching rule applies.
  const rules = [...mapped, ["*", "~NOTFOUND"]].map((pair) => `MAP ${pair.join(" ")}`);
  return {
    executablePath: chromiumPath,
    // Chromium's sandbox needs rights that containers do not have, and the pages are ours.
    chromiumSandbox: false,
    // Debian's Chromium rasterizes with its GPU, which a machine without one emulates.
    args: ["--disable-gpu", `--host-resolver-rules=${rules.join(",")}`],
  };
}
