import type { RequestListener } from "node:http";
import { createReceiver, type OutcomeCode } from "@svc-webhooks/core";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { listen } from "@svc-webhooks/kit/servers";
import { webhooks } from "@svc-webhooks/node";
import { expect, test } from "vitest";
import { createClient } from "../src/index.js";
import { rotatingSecrets, type SigningSecret } from "../src/rotation.js";

// The receiver of the core runs over HTTP, and its `secret` is the result of `rotatingSecrets`.

const apiKey = "svc_test";
const rotateRoute = "POST /v1/webhook-endpoints/{webhook_endpoint_id}:rotate-secret";

/** Changes, delays or drops the service's response before the client reads it. */
type Gateway = (response: Response) => Response | Promise<Response>;

/** Starts the service with its rule of A-19, and a receiver of all emails' events. */
async function start(rotation: string) {
  const { sandbox, url: baseUrl } = await openSandbox({ assumptions: { "A-19": rotation } });
  const client = createClient({ apiKey, baseUrl });

  let handler: RequestListener | undefined;
  const port = await listen((request, response) => handler?.(request, response));
  const { webhook_endpoint, secret } = await client.webhookEndpoints.create({
    url: `http://127.0.0.1:${port}/webhooks`,
    event_types: ["email.sent", "email.delivered"],
  });
  const { webhook_endpoint_id: id } = webhook_endpoint;

  const saved: (readonly SigningSecret[])[] = [];
  const secrets = rotatingSecrets({
    secrets: [{ id: "first", key: secret.reveal() }],
    save: (all) => void saved.push(all),
  });
  const handled = new Map<string, number>();
  const used = new Set<string | undefined>();
  const outcomes = new Map<OutcomeCode, number>();
  const receiver = createReceiver({
    secret: secrets.current,
    on: {
      "email.*"({ event_id }, { secretId }) {
        handled.set(String(event_id), (handled.get(String(event_id)) ?? 0) + 1);
        used.add(secretId);
      },
    },
    observe: ({ code, phase }) => {
      if (phase === "answered") outcomes.set(code, (outcomes.get(code) ?? 0) + 1);
    },
    log: () => {},
  });
  handler = webhooks(receiver);

  let sent = 0;
  /** Sends emails, and makes all attempts that are due. */
  async function load(emails: number) {
    const sending = Array.from({ length: emails }, () =>
      client.emails.send({
        from: "shop@example.test",
        to: ["ada@example.test"],
        subject: `Newsletter ${(sent += 1)}`,
        text: "Hello.",
      }),
    );
    await Promise.all(sending);
    await sandbox.clock.advance(0);
  }

  return {
    client,
    sandbox,
    secrets,
    saved,
    used,
    load,
    refused: () => outcomes.get("signature_mismatch") ?? 0,
    /** Rotates the secret. The response of the service passes through `gateway`. */
    rotate: (gateway: Gateway) => {
      const slow = createClient({
        apiKey,
        baseUrl,
        fetch: async (url, init) => gateway(await fetch(url, init)),
      });
      return secrets.rotate(slow, id);
    },
    fault: (kind: string) =>
      client.request("POST", "/_sandbox/faults", { body: { target: rotateRoute, kind } }),
    /** Makes all retries, and counts the results of the events. */
    settled: async () => {
      await sandbox.clock.advance(120_000);
      const unfinished: string[] = [];
      let events = 0;
      for await (const event of client.webhookEvents.list({
        webhook_endpoint_id: id,
        limit: 100,
      })) {
        events += 1;
        if (event.status !== "succeeded") unfinished.push(event.event_id);
      }
      const several = Array.from(handled).filter(([, times]) => times !== 1);
      return {
        sent,
        events,
        handled: handled.size,
        unfinished,
        several,
        codes: [...outcomes.keys()].toSorted(),
      };
    },
  };
}

/** Every email has two events, and each is handled once. */
const allHandled = (sent: number, ...codes: readonly OutcomeCode[]) => ({
  sent,
  events: 2 * sent,
  handled: 2 * sent,
  unfinished: [],
  several: [],
  codes,
});

test.each(["immediate", "pinned"])(
  "no event is lost or handled twice in twelve rotations under load that are %s: refused attempts are retried",
  async (rule) => {
    const { rotate, load, settled, refused, used, sandbox } = await start(rule);
    for (let rotation = 1; rotation <= 12; rotation += 1) {
      const before = refused();
      await load(3);
      const others = load(3);
      await rotate(async (response) => {
        // The service has the new secret, which the receiver does not know yet.
        await load(3);
        return response;
      });
      await others;
      expect(refused() - before).toBeGreaterThanOrEqual(6);
      await sandbox.clock.advance(1_000);
    }
    expect(await settled()).toEqual(allHandled(108, "processed", "signature_mismatch"));
    expect(used.size).toBe(13);
  },
);

test("no attempt is refused in twelve rotations under load that are deferred", async () => {
  const { rotate, load, settled, used, sandbox } = await start("deferred:60s");
  for (let rotation = 1; rotation <= 12; rotation += 1) {
    const others = load(3);
    await rotate(async (response) => {
      await load(3);
      return response;
    });
    await others;
    await sandbox.clock.advance(rotation % 2 === 0 ? 60_000 : 1_000);
  }
  expect(await settled()).toEqual(allHandled(72, "processed"));
  // The service does not sign with the last secret until a minute has passed.
  expect(used.size).toBe(12);
});

test.each<[string, Gateway]>([
  ["is lost", (response) => response],
  ["is a gateway's error page", () => new Response("<h1>504</h1>", { status: 504 })],
  [
    "ends half-way",
    async (response) => new Response((await response.text()).slice(0, -20), response),
  ],
])("a rotation whose response %s is repeated, and no event is lost", async (how, gateway) => {
  const { rotate, load, settled, fault, secrets, saved } = await start("immediate");
  await load(5);
  if (how === "is lost") await fault("response_lost");
  let responses = 0;
  await rotate(async (response) => {
    responses += 1;
    // These deliveries are signed with a secret that was never received.
    await load(5);
    return responses === 1 ? gateway(response) : response;
  });
  await load(5);
  expect(saved).toEqual([secrets.current()]);
  expect(secrets.current()).toHaveLength(2);
  const { sent, ...rest } = await settled();
  expect({ sent, ...rest }).toEqual(allHandled(sent, "processed", "signature_mismatch"));
});

test("two rotations at the same time leave secrets that the receiver accepts", async () => {
  const { rotate, load, settled, secrets } = await start("immediate");
  await Promise.all([rotate((response) => response), rotate((response) => response)]);
  expect(new Set(secrets.current().map(({ id }) => id)).size).toBe(3);
  await load(5);
  expect(await settled()).toEqual(allHandled(5, "processed"));
});

test("a rotation that the service refuses changes nothing", async () => {
  const { client, secrets, saved } = await start("immediate");
  const before = secrets.current();
  await expect(secrets.rotate(client, "we_unknown")).rejects.toMatchObject({ code: "not_found" });
  expect([secrets.current(), saved]).toEqual([before, []]);
});
