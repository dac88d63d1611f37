import { spawn } from "node:child_process";
import { WebhookError } from "@svc-webhooks/core";

export interface Opener {
  readonly program: string;
  readonly args: readonly string[];
}

/**
 * Returns the program and arguments that open an address in the default browser. The address must not contain quotation
 * marks.
 */
export function openerOf(platform: NodeJS.Platform, address: string): Opener {
  if (platform === "darwin") return { program: "open", args: [address] };
  // `start` is built into cmd, and treats its first quoted argument as a window title, so an empty title comes first.
  // Within quotes, cmd treats & and | as ordinary characters.
  if (platform === "win32")
    return {
      // The full path is used, because Windows would look for `cmd` in the current folder first.
      program: process.env["ComSpec"] ?? "cmd.exe",
      args: ["/d", "/c", `start "" "${address}"`],
    };
  return { program: "xdg-open", args: [address] };
}

/**
 * Opens an address in the default browser: with `open` on macOS, `start` on Windows, `xdg-open` elsewhere. Returns
 * immediately. The browser neither keeps this process alive nor exits with it.
 *
 * @param url an `http:` or `https:` address
 * @param report receives one line if the browser could not be opened: the program is missing, or failed
 * @throws WebhookError `wrong_usage` for any other address, and for a host with a quotation mark
 *
 * @example
 * ```ts
 * import { openInBrowser } from "@svc-webhooks/sandbox/command";
 *
 * if (process.argv.includes("--open"))
 *   openInBrowser("http://127.0.0.1:4010/", (line) => console.error(line));
 * ```
 */
export function openInBrowser(url: string, report: (line: string) => void): void {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  // `URL` percent-encodes quotation marks everywhere except in the host, so only the host is checked.
  if (address === undefined || !/^https?:$/.test(address.protocol) || address.host.includes('"'))
    throw new WebhookError("wrong_usage", "`url` must be an http: or https: address.");
  const { href } = address;
  const { program, args } = openerOf(process.platform, href);
  const failed = (how: string) => report(`${program} ${how}. Open ${href} in a browser yourself.`);
  const child = spawn(program, args, {
    // The child process has its own group, so that Ctrl-C does not close the browser. It has no terminal, because
    // xdg-open may choose a text browser that would take over the terminal.
    detached: true,
    stdio: "ignore",
    windowsHide: true,
    windowsVerbatimArguments: true,
  });
  child.once("error", (error: NodeJS.ErrnoException) =>
    failed(error.code === "ENOENT" ? "was not found" : `could not be started: ${error.message}`),
  );
  child.once("exit", (code) => {
    if (code !== null && code !== 0) failed(`failed with exit code ${code}`);
  });
  child.unref();
}
