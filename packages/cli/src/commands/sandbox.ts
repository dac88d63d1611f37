import { codeOf } from "@svc-webhooks/core";
import { commandOptions, runCommand } from "@svc-webhooks/sandbox/command";
import { command } from "../command.js";
import { UsageError } from "../errors.js";

const hint = "svc-webhooks sandbox --help lists all options.";

export const sandbox = command({
  usage: "[options]",
  details: [
    "The first line on stdout is the base URL, or { url } with --json. Open that URL in a browser to see what was sent and what happened to it. Deliveries go to this machine only. Where the interface document is silent, the sandbox makes an assumption; --assumptions lists all of them, as JSON with --json.",
  ],
  examples: [
    "svc-webhooks sandbox --open",
    "svc-webhooks sandbox --port 4011",
    "svc-webhooks sandbox --set A-09=none --clock manual",
    "svc-webhooks sandbox --assumptions",
  ],
  options: commandOptions,
  async run({ options, stdout, signal, json }) {
    try {
      await runCommand(options, { stdout, signal, json });
    } catch (error) {
      // The sandbox rejected the value of an option.
      if (error instanceof Error && codeOf(error) !== undefined)
        throw new UsageError(error.message, hint);
      throw error;
    }
    return 0;
  },
});
