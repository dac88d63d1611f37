import { codeOf } from "@svc-webhooks/core";
import { commandOptions, runCommand } from "@svc-webhooks/sandbox/command";
import { command } from "../command.js";
import { UsageError } from "../errors.js";

const hint = "svc-webhooks sandbox --help lists all options.";

export const sandbox = command({
  usage: "[options]",
  details: [
    "The first line on stdout has the base URL, with --json as { url }. In a browser, that URL is a page that shows what was sent and what happened to it. Deliveries go to this machine only. What the interface document leaves open is an assumption; --assumptions lists them, with --json too.",
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
