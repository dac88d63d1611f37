import Fastify from "fastify";
import { createReceiver } from "svc-webhooks";
import { webhooks } from "svc-webhooks/fastify";

const app = Fastify({ logger: { level: "warn" } });

// Stands for the plugin of a database. It is registered before the receiver, so it is closed after the last handler.
app.decorate("delivered", new Set());
app.addHook("onClose", async ({ delivered }) => console.log("closed, emails:", delivered.size));

app.register(webhooks, {
  receiver: ({ delivered, log }) =>
    createReceiver({
      secret: process.env.SVC_WEBHOOK_SECRET ?? "",
      on: {
        "email.delivered": async ({ data }) => {
          delivered.add(data.email_id);
          console.log("delivered:", data.email_id);
        },
      },
      logger: log,
    }),
});

// The other routes keep Fastify's parsers.
app.post("/json", async ({ body }) => ({ received: body }));

// Ctrl+C in `npm start` sends SIGINT twice, and closing twice has no effect.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => app.close());

await app.listen({ port: Number(process.env.PORT ?? 3000) });
console.log(`Listening on http://localhost:${app.server.address().port}`);
