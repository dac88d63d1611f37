import { command } from "../command.js";
import { serviceOptions, withService } from "../lib/service.js";
import { table } from "../lib/terminal/table.js";

export const eventTypesList = command({
  usage: "",
  details: [
    "Prints the event types that an endpoint can subscribe to. With --json, prints { data }.",
  ],
  examples: ["svc-webhooks service event-types list"],
  options: serviceOptions,
  run: (context) =>
    withService(context, async ({ webhookEventTypes }) => {
      const { show, stdout, signal } = context;
      const data = [];
      for await (const type of webhookEventTypes.list({ signal })) data.push(type);
      const rows = data.map((item) => [item.type ?? item, item.description]);
      show({ data }, table(["type", "description"], rows, stdout));
      return 0;
    }),
});
