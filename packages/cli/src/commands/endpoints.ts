import type { Client, WebhookEndpoint, WebhookEndpointWithSecret } from "@svc-webhooks/client";
import { command, type Context, type ExitCode } from "../command.js";
import { UsageError } from "../errors.js";
import { serviceOptions, withService } from "../lib/service.js";
import { fields } from "../lib/table.js";

const once = "The secret is printed once: store it now.";

export const endpointsCreate = command({
  usage: "--url <url> --event <type>",
  details: [
    `Registers a webhook endpoint, and prints it with its signing secret. ${once}`,
    "svc-webhooks event-types list prints the types.",
  ],
  examples: [
    "svc-webhooks endpoints create --url http://localhost:3000/webhooks --event email.sent",
  ],
  options: {
    url: { type: "string", required: true, value: "url", text: "public HTTPS URL of the receiver" },
    event: { type: "string", multiple: true, value: "type", text: "event type; may be repeated" },
    ...serviceOptions,
  },
  async run(context) {
    const { url, event } = context.options;
    if (event.length === 0 || event.includes(""))
      throw new UsageError("--event is missing.", "Write --event email.sent.");
    return withSecret(context, ({ webhookEndpoints }, signal) =>
      webhookEndpoints.create({ url, event_types: event }, { signal }),
    );
  },
});

export const endpointsRotateSecret = command({
  usage: "<webhook_endpoint_id>",
  args: ["webhook_endpoint_id"],
  details: [
    `Replaces the signing secret of an endpoint, and prints the new one. ${once}`,
    "Deliveries are signed with it from now on. A receiver that verifies with both secrets accepts them all.",
  ],
  examples: ["svc-webhooks endpoints rotate-secret we_…"],
  options: serviceOptions,
  run: (context) =>
    withSecret(context, ({ webhookEndpoints }, signal) =>
      webhookEndpoints.rotateSecret(context.args[0] ?? "", { signal }),
    ),
});

export const endpointsArchive = command({
  usage: "<webhook_endpoint_id>",
  args: ["webhook_endpoint_id"],
  details: ["Archives an endpoint. Nothing is delivered to it from then on."],
  examples: ["svc-webhooks endpoints archive we_…"],
  options: serviceOptions,
  run: (context) =>
    withService(context, async ({ webhookEndpoints }) => {
      const [id = ""] = context.args;
      const archived = (await webhookEndpoints.archive(id, { signal: context.signal })) ?? {
        webhook_endpoint_id: id,
      };
      context.show(archived, `Archived ${id}.`);
      return 0;
    }),
});

/** The interface document does not show what a rotation returns besides the secret. */
const textOf = ({
  webhook_endpoint_id,
  url,
  status,
  event_types,
}: Partial<WebhookEndpoint> = {}) => ({
  webhook_endpoint_id,
  url,
  status,
  event_types: event_types?.join(", "),
});

/** Prints an endpoint and its secret, which only stdout gets. */
const withSecret = (
  context: Context<typeof serviceOptions>,
  change: (client: Client, signal: AbortSignal) => Promise<WebhookEndpointWithSecret>,
): Promise<ExitCode> =>
  withService(context, async (client) => {
    const { webhook_endpoint, secret: wrapped } = await change(client, context.signal);
    const secret = wrapped.reveal();
    context.show({ webhook_endpoint, secret }, fields({ ...textOf(webhook_endpoint), secret }));
    return 0;
  });
