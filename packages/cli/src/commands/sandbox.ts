import { codeOf } from "@svc-webhooks/core";
import { commandOptions, runCommand } from "@svc-webhooks/sandbox/command";
import { command } from "../command.js";
import { UsageError } from "../errors.js";

const hint = "svc-webhooks sandbox --help lists all options.";

export const sandbox = command({
  usage: "[options]",
  details: [
    "The first line on stdout contains the base URL; with --json, it is { url }. Open that URL in a browser to see what was sent and what happened to it. By default, the sandbox delivers only to loopback addresses. Where the interface document leaves a detail open, the sandbox makes an assumption. --assumptions lists all assumptions, as JSON with --json.",
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
