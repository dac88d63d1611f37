import { codeOf } from "@svc-webhooks/core/adapter";
import { commandOptions, runCommand } from "@svc-webhooks/sandbox/command";
import { command } from "../command.js";
import { UsageError } from "../errors.js";

const hint = "svc-webhooks sandbox --help lists all options.";

export const sandbox = command({
  usage: "[options]",
  details: [
    "The first line on stdout contains the base URL; with --json, it is { url }. Open that URL in a browser to see what was sent and what happened to it. By default, the sandbox delivers only to loopback addresses. Where the interface document leaves a detail open, the sandbox makes an assumption. --assumptions lists all assumptions, as JSON with --json.",
    "--scenario runs a scenario file instead of a server, on a clock of its own: requests, faults, moves of the clock, and expectations about the receiver at --to. With --json, the report is { scenario, met, steps, ran, results }. The same behavior leads to the same report, byte for byte. The package contains the scenarios rotation-under-load, receiver-down-for-a-day, reordered-and-duplicated, slow-receiver and archived-in-the-middle.",
  ],
  examples: [
    "svc-webhooks sandbox --open",
    "svc-webhooks sandbox --port 4011",
    "svc-webhooks sandbox --set A-09=none --clock manual",
    "svc-webhooks sandbox --assumptions",
    "svc-webhooks sandbox --scenario slow-receiver --to http://localhost:3000/ --secret-env SECRET",
  ],
  options: commandOptions,
  async run({ options, stdout, signal, json, env }) {
    try {
      return await runCommand(options, { stdout, signal, json, env });
    } catch (error) {
      // An error with a code means that the sandbox rejected the value of an option.
      if (error instanceof Error && codeOf(error) !== undefined)
        throw new UsageError(error.message, hint);
      throw error;
    }
  },
});
