import { commandOptions, runCommand } from "@svc-webhooks/sandbox/command";
import { command } from "../command.js";

export const sandbox = command({
  usage: "[options]",
  details: [
    "The first line on stdout has the base URL, with --json as { url }. Deliveries go to this machine only. What the interface document leaves open is an assumption; --assumptions lists them, with --json too.",
  ],
  examples: [
    "svc-webhooks sandbox --port 4010",
    "svc-webhooks sandbox --set A-09=none --clock manual",
    "svc-webhooks sandbox --assumptions",
  ],
  options: commandOptions,
  async run({ options, stdout, signal, json }) {
    await runCommand(options, { stdout, signal, json });
    return 0;
  },
});
