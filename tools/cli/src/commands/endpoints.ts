import type { WebhookEndpoint, WebhookEndpointWithSecret } from "@svc-webhooks/client";
import { command, type Context, type ExitCode } from "../command.js";
import { UsageError } from "../errors.js";
import { idOf, newSecret } from "../lib/new-secret.js";
import { serviceOptions, withService } from "../lib/service.js";
import { listFromSandbox } from "../lib/control.js";
import { fields, listed, table } from "../lib/terminal/table.js";

const once = "The secret is printed only once, so store it now.";

export const endpointsCreate = command({
  usage: "--url <url> --event <type>",
  details: [
    `Registers a webhook endpoint, and prints it with its signing secret. ${once}`,
    "To see the types, run svc-webhooks service event-types list.",
  ],
  examples: [
    "svc-webhooks service endpoints create --url http://localhost:3000/webhooks --event email.sent",
  ],
  options: {
    url: {
      type: "string",
      required: true,
      value: "url",
      text: "URL of the receiver: public HTTPS, or loopback in the sandbox",
    },
    event: { type: "string", multiple: true, value: "type", text: "event type; may be repeated" },
    ...serviceOptions,
  },
  async run(context) {
    const { url, event } = context.options;
    if (event.length === 0 || event.includes(""))
      throw new UsageError("--event is missing.", "Write it as --event email.sent.");
    return withService(context, async ({ webhookEndpoints }) => {
      const endpoint = { url, event_types: event };
      const created = await webhookEndpoints.create(endpoint, { signal: context.signal });
      const id = idOf(created) ?? "we_…";
      const done = `The endpoint ${id} was registered.`;
      const fix = `Generate a new secret with svc-webhooks service endpoints rotate-secret ${id}, or archive the endpoint with svc-webhooks service endpoints archive ${id}.`;
      return showSecret(context, created, newSecret(created, done, fix));
    });
  },
});

export const endpointsList = command({
  usage: "",
  details: [
    "Prints the webhook endpoints, newest first. The service's interface has no operation for this, so the command works only with the sandbox. With --json, prints { data }.",
  ],
  examples: ["svc-webhooks service endpoints list"],
  options: serviceOptions,
  run: (context) =>
    withService(context, async (client) => {
      const data = await listFromSandbox<WebhookEndpoint>(client, "endpoints", context.signal);
      const rows = data.map(({ webhook_endpoint_id, status, url, event_types }) => [
        webhook_endpoint_id,
        status,
        url,
        listed(event_types),
      ]);
      const names = ["webhook_endpoint_id", "status", "url", "event_types"];
      context.show(
        { data },
        rows.length === 0
          ? ["No endpoints found."]
          : table(names, rows, context.stdout, { colors }),
      );
      return 0;
    }),
});

const colors = { active: "green", archived: "dim" } as const;

export const endpointsRotateSecret = command({
  usage: "<webhook_endpoint_id>",
  args: ["webhook_endpoint_id"],
  details: [
    `Replaces the signing secret of an endpoint, and prints the new one. ${once}`,
    "From then on, the service may sign with the new secret, although retries may still be signed with the old one. During the rotation, have the receiver verify with both secrets, so that it does not refuse any deliveries.",
  ],
  examples: ["svc-webhooks service endpoints rotate-secret we_…"],
  options: serviceOptions,
  run: (context) =>
    withService(context, async ({ webhookEndpoints }) => {
      const [id = ""] = context.args;
      const rotated = await webhookEndpoints.rotateSecret(id, { signal: context.signal });
      const done = `The secret of ${id} was rotated.`;
      const fix = `Rotate it again with svc-webhooks service endpoints rotate-secret ${id}, give the receiver the new secret, and run svc-webhooks service events redeliver-failed ${id} to redeliver the deliveries that it refused in the meantime.`;
      return showSecret(context, rotated, newSecret(rotated, done, fix));
    }),
});

export const endpointsArchive = command({
  usage: "<webhook_endpoint_id>",
  args: ["webhook_endpoint_id"],
  details: ["Archives an endpoint. After that, nothing is delivered to it."],
  examples: ["svc-webhooks service endpoints archive we_…"],
  options: serviceOptions,
  run: (context) =>
    withService(context, async ({ webhookEndpoints }) => {
      const [id = ""] = context.args;
      const archived = (await webhookEndpoints.archive(id, { signal: context.signal })) ?? {
        webhook_endpoint_id: id,
      };
      context.show(archived, [`Archived ${id}.`]);
      return 0;
    }),
});

/**
 * Returns the fields of an endpoint to print. Any of them may be missing, because the interface document does not show
 * which fields a rotation returns in addition to the secret.
 */
const textOf = ({ webhook_endpoint_id, url, status, event_types }: Partial<WebhookEndpoint>) => ({
  webhook_endpoint_id,
  url,
  status,
  event_types: listed(event_types),
});

/** Prints an endpoint and its secret. The secret is written to stdout only. */
function showSecret(
  { show }: Pick<Context, "show">,
  { webhook_endpoint }: WebhookEndpointWithSecret,
  secret: string,
): ExitCode {
  show({ webhook_endpoint, secret }, fields({ ...textOf(webhook_endpoint ?? {}), secret }), secret);
  return 0;
}
