import { createClient, type Client } from "@svc-webhooks/client";
import {
  createReceiver,
  PermanentError,
  type DeliveryStore,
  type Receiver,
  type ReceiverOptions,
} from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { openSandbox } from "./sandboxes.js";
import { listen } from "./servers.js";

const hour = 3_600_000;

/**
 * The course of the deliveries of an email: `dropped` and `swallowed` never reach the receiver, and the service lists
 * them as failed and succeeded; `held` ones wait for two more; a `forgotten` one is handled, and its record is lost.
 */
export type Fate = "done" | "failed" | "parked" | "dropped" | "swallowed" | "held" | "forgotten";

/** A sandbox on a manual clock, whose only endpoint is a real receiver behind HTTP. */
export interface ReconciledService {
  readonly url: string;
  readonly client: Client;
  readonly endpointId: string;
  readonly receiver: Receiver;
  /** The ids of the deliveries whose handler has succeeded, once for each run. */
  readonly handled: readonly string[];
  /** Sends an email, whose two deliveries meet this fate. Resolves to their ids, newest first. */
  readonly deliver: (fate: Fate) => Promise<readonly string[]>;
  readonly advance: (ms: number) => Promise<void>;
  readonly archive: () => Promise<unknown>;
  /** Registers another endpoint. Resolves to its id. */
  readonly addEndpoint: () => Promise<string>;
}

/**
 * Opens the service three hours ago, until the test ends. Attempts are not retried.
 *
 * @param on replaces the handlers
 */
export async function reconciledService(
  store: DeliveryStore,
  on?: ReceiverOptions["on"],
): Promise<ReconciledService> {
  const { sandbox, url } = await openSandbox({
    clock: { mode: "manual", start: Date.now() - 3 * hour, patienceMs: 60_000 },
    assumptions: { "A-09": "none" },
  });
  const client = createClient({ baseUrl: url, apiKey: "svc_test" });
  const handled: string[] = [];
  let fate: Fate = "done";
  let secret = "";
  const receiver = createReceiver({
    name: "reconciled",
    store,
    secret: () => secret,
    log: () => {},
    onHandlerError: () => {},
    onParked: () => {},
    on: on ?? {
      "*": (_, { deliveryId }) => {
        if (fate === "failed") throw new Error("The database is unavailable.");
        if (fate === "parked") throw new PermanentError("There is no such customer.");
        handled.push(deliveryId);
      },
    },
  });
  const { domain_id } = await client.domains.create({ domain_name: "shop.example.test" });
  await client.domains.verify(domain_id);
  const endpoint = {
    url: `http://127.0.0.1:${await listen(webhooks(receiver))}/`,
    event_types: ["email.sent", "email.delivered"],
  };
  const created = await client.webhookEndpoints.create(endpoint);
  secret = created.secret.reveal();
  const webhook_endpoint_id = created.webhook_endpoint.webhook_endpoint_id;
  const known = new Set<string>();

  const addFault = (kind: "drop" | "reorder", more: object) =>
    client.request("POST", "/_sandbox/faults", {
      body: { target: webhook_endpoint_id, kind, ...more },
    });
  const advance = (ms: number) => sandbox.clock.advance(ms);
  return {
    url,
    client,
    endpointId: webhook_endpoint_id,
    receiver,
    handled,
    advance,
    archive: () => client.webhookEndpoints.archive(webhook_endpoint_id),
    async addEndpoint() {
      const { webhook_endpoint } = await client.webhookEndpoints.create(endpoint);
      return webhook_endpoint.webhook_endpoint_id;
    },
    async deliver(wanted) {
      fate = wanted;
      if (fate === "dropped") await addFault("drop", { times: 2 });
      if (fate === "swallowed") await addFault("drop", { times: 2, result: "succeeded" });
      // The batch of four is not full yet.
      if (fate === "held") await addFault("reorder", { times: 4, delay_ms: 600_000 });
      await client.emails.send({
        from: "orders@shop.example.test",
        to: ["ada@customer.test"],
        subject: "Your receipt",
        text: fate,
      });
      await advance(1_000);
      const ids: string[] = [];
      for await (const { delivery_id } of client.webhookEvents.list({ webhook_endpoint_id })) {
        if (!known.has(delivery_id)) ids.push(delivery_id);
      }
      for (const id of ids) known.add(id);
      if (fate === "forgotten")
        await Promise.all(ids.map((deliveryId) => receiver.forget({ deliveryId })));
      fate = "done";
      return ids;
    },
  };
}
