import { randomBytes } from "node:crypto";
import type { Client } from "@svc-webhooks/client";
import { command } from "../command.js";
import { serviceOptions, withService } from "../lib/service.js";
import { fields } from "../lib/terminal/table.js";

interface Options {
  readonly from: string;
  readonly to: string;
}

/** Causes an event. Resolves to the names and values to print. */
type Trigger = (
  client: Client,
  options: Options,
  signal: AbortSignal,
) => Promise<Readonly<Record<string, string>>>;

const sendEmail: Trigger = async ({ emails }, { from, to }, signal) => {
  const email = {
    from,
    to: [to],
    subject: "A test email",
    text: "Sent by svc-webhooks service trigger.",
  };
  const { send_id, status } = await emails.send(email, { signal });
  return { send_id, status };
};

/** The functions that cause events, by event type (assumption A-04 of the sandbox). */
const triggers: Readonly<Record<string, Trigger>> = {
  "email.sent": sendEmail,
  "email.delivered": sendEmail,
  async "domain.updated"({ domains }, _options, signal) {
    const domain_name = `trigger-${randomBytes(4).toString("hex")}.example.test`;
    const { domain_id } = await domains.create({ domain_name }, { signal });
    const verified = await domains.verify(domain_id, { signal });
    return { domain_id, status: verified?.status ?? "" };
  },
};

const types = Object.keys(triggers);

export const trigger = command({
  usage: "<event_type>",
  args: ["event_type"],
  argValues: types,
  details: [
    `Triggers an event of the given type (${types.join(", ")}) by sending an email, or by adding and verifying a domain.`,
    "The service delivers the event to the endpoints that subscribe to it, so start svc-webhooks listen first.",
  ],
  examples: ["svc-webhooks service trigger email.delivered"],
  options: {
    from: {
      type: "string",
      default: "ada@mail.example.test",
      value: "address",
      text: "sender of the email",
    },
    to: {
      type: "string",
      default: "grace@example.test",
      value: "address",
      text: "recipient of the email",
    },
    ...serviceOptions,
    "allow-external": {
      type: "boolean",
      text: "allow a service on another machine, even over unencrypted http",
    },
  },
  async run(context) {
    const { args, options, signal, show } = context;
    const [type = ""] = args;
    const run = async (client: Client) => {
      const done = (await triggers[type]?.(client, options, signal)) ?? {};
      show({ type, ...done }, fields({ type, ...done }));
      return 0 as const;
    };
    // The command sends an email or adds a domain, so a service on another machine must be allowed explicitly.
    return withService(context, run, true);
  },
});
