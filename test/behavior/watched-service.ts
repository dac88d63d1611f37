import { createClient } from "@svc-webhooks/client";
import { createReceiver, type Clock, type DeliveryStore, type Handler } from "@svc-webhooks/core";
import { reconcile } from "@svc-webhooks/core/reconcile";
import { present } from "@svc-webhooks/kit/present";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { listen } from "@svc-webhooks/kit/servers";
import { webhooks } from "@svc-webhooks/node";

const dayMs = 86_400_000;

/** A service on a manual clock, with receivers whose time is the service's. */
export async function watchedService() {
  const { sandbox, url } = await openSandbox({
    // A busy machine may need longer for a response, which would time out on the service's clock.
    clock: { mode: "manual", patienceMs: 600_000 },
    assumptions: { "A-06": "allow" },
  });
  const client = createClient({ apiKey: "svc_test", baseUrl: url });
  const clock: Clock = {
    now: () => sandbox.clock.now(),
    monotonic: () => performance.now(),
    after(delayMs, run) {
      const timer = setTimeout(run, delayMs).unref();
      return () => clearTimeout(timer);
    },
  };

  async function subscribe(name: string, store: DeliveryStore, handler: Handler) {
    let secret: string | undefined;
    const receiver = createReceiver({
      name,
      store,
      clock,
      secret: () => present(secret),
      on: { "email.*": handler },
      // The service and the handlers fail on purpose.
      log: () => {},
    });
    const port = await listen(webhooks(receiver));
    const created = await client.webhookEndpoints.create({
      url: `http://127.0.0.1:${port}/`,
      event_types: ["email.sent", "email.delivered"],
    });
    secret = created.secret.reveal();
    const { webhook_endpoint_id } = created.webhook_endpoint;
    const list = () => client.webhookEvents.list({ webhook_endpoint_id, limit: 20 });
    const redeliver = (event_id: string) =>
      client.webhookEvents.redeliver(event_id, { webhook_endpoint_id });
    return {
      list,
      redeliver,
      archive: () => client.webhookEndpoints.archive(webhook_endpoint_id),
      /** Orders a fault for the next deliveries. */
      fault: (kind: string, times: number, more = {}) =>
        client.request("POST", "/_sandbox/faults", {
          body: { target: webhook_endpoint_id, kind, times, ...more },
        }),
      /** Compares, requests what is missing, and lets the service send it. */
      async reconcile(since: Date) {
        const request = (_id: string, item: { event_id: string }) => redeliver(item.event_id);
        const options = { list: list(), receiver, since, clock, redeliver: request };
        const report = await reconcile(options);
        await sandbox.clock.advance(60_000);
        return report;
      },
    };
  }

  /** Sends emails, and ends the day. */
  async function day(emails: number) {
    for (let sent = 0; sent < emails; sent += 1) {
      const email = { from: "a@shop.test", to: ["b@c.test"], subject: "Receipt", text: "Thanks." };
      await client.emails.send(email);
    }
    await sandbox.clock.advance(dayMs);
  }
  /** Returns the number of deliveries that faults still wait for. */
  async function faultsLeft() {
    const faults = await client.request<{ data: { left: number }[] }>("GET", "/_sandbox/faults");
    return faults.data.reduce((sum, { left }) => sum + left, 0);
  }
  return { clock, subscribe, day, faultsLeft };
}
