import type { Client, Domain, RequestOptions } from "@svc-webhooks/client";
import { command, type Context, type ExitCode } from "../command.js";
import { serviceOptions, withService } from "../lib/service.js";
import { fields } from "../lib/terminal/table.js";

export const domainsAdd = command({
  usage: "<domain_name>",
  args: ["domain_name"],
  details: ["Adds a sending domain. Verify it before emails are sent from it."],
  examples: ["svc-webhooks domains add mail.example.test"],
  options: serviceOptions,
  run: (context) =>
    changed(context, ({ domains }, domain_name, options) =>
      domains.create({ domain_name }, options),
    ),
});

export const domainsVerify = command({
  usage: "<domain_id>",
  args: ["domain_id"],
  details: ["Requests the verification of a domain, and prints the state that it has now."],
  examples: ["svc-webhooks domains verify dom_…"],
  options: serviceOptions,
  run: (context) => changed(context, ({ domains }, id, options) => domains.verify(id, options)),
});

const changed = (
  context: Context<typeof serviceOptions>,
  change: (
    client: Client,
    argument: string,
    options: RequestOptions,
  ) => Promise<Domain | undefined>,
): Promise<ExitCode> =>
  withService(context, async (client) => {
    const [argument = ""] = context.args;
    const domain = (await change(client, argument, { signal: context.signal })) ?? {};
    const { domain_id = argument, domain_name, status, verified_at }: Partial<Domain> = domain;
    context.show({ domain_id, ...domain }, fields({ domain_id, domain_name, status, verified_at }));
    return 0;
  });
