import type { SendStatus } from "@svc-webhooks/client";
import { command } from "../command.js";
import { serviceOptions, waitOption, withService } from "../lib/service.js";
import { fields, listed, textOf } from "../lib/terminal/table.js";

export const sendsGet = command({
  usage: "<send_id> [--wait]",
  args: ["send_id"],
  details: [
    "Prints the status of a send. With --wait, first waits until the email is delivered, bounced or failed. If none of these happens within 60 s, exits with 1.",
  ],
  examples: ["svc-webhooks service sends get send_… --wait"],
  options: {
    wait: waitOption,
    ...serviceOptions,
  },
  run: (context) =>
    withService(context, async ({ sends }) => {
      const { args, options, show, signal } = context;
      const [id = ""] = args;
      const send = await (options.wait ? sends.waitFor(id, { signal }) : sends.get(id, { signal }));
      show(send, linesOf(send));
      return 0;
    }),
});

const linesOf = ({ send_id, status, subject, recipients, created_at, history }: SendStatus) =>
  fields({
    send_id,
    status,
    to: listed(recipients?.to),
    subject,
    created_at,
    history: listed(history, entryText),
  });

function entryText(entry: unknown): string {
  const { status, at } = Object(entry) as Readonly<Record<string, unknown>>;
  return typeof status === "string" && typeof at === "string" ? `${status} ${at}` : textOf(entry);
}
