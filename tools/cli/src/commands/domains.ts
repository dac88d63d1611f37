import type { Client, Domain, RequestOptions } from "@svc-webhooks/client";
import { command, type Context, type ExitCode } from "../command.js";
import { Failure } from "../errors.js";
import { serviceOptions, withService } from "../lib/service.js";
import { listFromSandbox } from "../lib/control.js";
import { fields, table } from "../lib/terminal/table.js";

export const domainsAdd = command({
  usage: "<domain_name>",
  args: ["domain_name"],
  details: ["Adds a sending domain. Verify the domain before you send email from it."],
  examples: ["svc-webhooks service domains add mail.example.test"],
  options: serviceOptions,
  run: (context) =>
    changed(context, ({ domains }, domain_name, options) =>
      domains.create({ domain_name }, options),
    ),
});

export const domainsList = command({
  usage: "",
  details: [
    "Prints the sending domains, newest first. The service's interface has no operation for this, so the command works only with the sandbox. With --json, prints { data }.",
  ],
  examples: ["svc-webhooks service domains list"],
  options: serviceOptions,
  run: (context) =>
    withService(context, async (client) => {
      const data = await listFromSandbox<Domain>(client, "domains", context.signal);
      const rows = data.map(({ domain_id, domain_name, status }) => [
        domain_id,
        domain_name,
        status,
      ]);
      const names = ["domain_id", "domain_name", "status"];
      context.show(
        { data },
        rows.length === 0 ? ["No domains found."] : table(names, rows, context.stdout),
      );
      return 0;
    }),
});

export const domainsVerify = command({
  usage: "<domain_id>",
  args: ["domain_id"],
  details: [
    "Requests verification of a domain, and prints its current state. With the sandbox, you can pass the domain's name instead of its id.",
  ],
  examples: [
    "svc-webhooks service domains verify dom_…",
    "svc-webhooks service domains verify mail.example.test",
  ],
  options: serviceOptions,
  run: (context) =>
    changed(context, async (client, domain, options) =>
      client.domains.verify(await idOf(client, domain, options.signal), options),
    ),
});

/** Resolves to the id of the domain with this id or name. A text with a dot is a name, which is looked up. */
async function idOf(client: Client, domain: string, signal: AbortSignal): Promise<string> {
  if (!domain.includes(".")) return domain;
  const all = await listFromSandbox<Domain>(client, "domains", signal);
  const match = all.find(({ domain_name }) => domain_name === domain.toLowerCase());
  if (match?.domain_id) return match.domain_id;
  throw new Failure(
    "not_found",
    `No domain has the name ${domain}.`,
    "Add it with svc-webhooks service domains add.",
  );
}

const changed = (
  context: Context<typeof serviceOptions>,
  change: (
    client: Client,
    argument: string,
    options: RequestOptions & { readonly signal: AbortSignal },
  ) => Promise<Domain | undefined>,
): Promise<ExitCode> =>
  withService(context, async (client) => {
    const [argument = ""] = context.args;
    const domain = (await change(client, argument, { signal: context.signal })) ?? {};
    const { domain_id = argument, domain_name, status, verified_at }: Partial<Domain> = domain;
    context.show({ domain_id, ...domain }, fields({ domain_id, domain_name, status, verified_at }));
    return 0;
  });
