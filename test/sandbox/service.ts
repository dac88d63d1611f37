import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { until } from "@svc-webhooks/kit/until";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import { expect } from "vitest";

/** A delivery, as `GET /v1/webhook-events` lists it. */
export interface WebhookEvent {
  readonly event_id: string;
  readonly delivery_id: string;
  readonly type: string;
  readonly status: string;
  readonly attempts: number;
  readonly next_attempt_at: string | null;
}

interface EndpointWithSecret {
  readonly webhook_endpoint: { readonly webhook_endpoint_id: string };
  readonly secret: string;
}

interface Send {
  readonly send_id: string;
  readonly status: string;
  readonly history: readonly { readonly status: string }[];
}

/** The service's REST interface over HTTP, with one endpoint that is subscribed to email events. */
export interface Service {
  readonly secret: string;
  readonly sendEmail: () => Promise<string>;
  readonly getSend: (sendId: string) => Promise<Send>;
  /** Returns the deliveries to the endpoint, the oldest first. */
  readonly events: () => Promise<readonly WebhookEvent[]>;
  /** Requests one more attempt of a delivery. Resolves to the status of the response. */
  readonly redeliver: (eventId: string) => Promise<number>;
  readonly rotateSecret: () => Promise<string>;
  /** Orders a failure of the next `times` attempts that have none yet. */
  readonly addFault: (kind: "duplicate" | "response_lost", times: number) => Promise<void>;
  /** Advances the sandbox's clock. Resolves when every attempt that became due has ended. */
  readonly advance: (ms: number) => Promise<void>;
}

/** Runs a sandbox on a free port until the test ends, with a verified domain and a registered endpoint. */
export async function startService(
  url: string,
  assumptions: SandboxOptions["assumptions"] = {},
): Promise<Service> {
  const { sandbox, url: baseUrl } = await openSandbox({ assumptions });

  const call = (method: string, path: string, body?: object) =>
    fetch(baseUrl + path, {
      method,
      headers: {
        authorization: "Bearer svc_test",
        "content-type": "application/json",
        "idempotency-key": crypto.randomUUID(),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  const result = async <Body>(status: number, ...request: Parameters<typeof call>) => {
    const response = await call(...request);
    const body: unknown = await response.json();
    expect([response.status, body]).toEqual([status, expect.anything()]);
    return body as Body;
  };

  const domain = await result<{ domain_id: string }>(201, "POST", "/v1/domains", {
    domain_name: "shop.example.test",
  });
  await result(200, "POST", `/v1/domains/${domain.domain_id}:verify`);
  const endpoint = await result<EndpointWithSecret>(201, "POST", "/v1/webhook-endpoints", {
    url,
    event_types: ["email.sent", "email.delivered"],
  });
  const id = endpoint.webhook_endpoint.webhook_endpoint_id;

  const events = async () => {
    const list = `/v1/webhook-events?webhook_endpoint_id=${id}&limit=100`;
    const { data } = await result<{ data: readonly WebhookEvent[] }>(200, "GET", list);
    return data.toReversed();
  };
  const hasEnded = async () => {
    const due = (await events()).filter(
      ({ status, next_attempt_at: next }) =>
        status === "attempting" || (next !== null && Date.parse(next) <= sandbox.clock.now()),
    );
    return due.length === 0;
  };

  return {
    secret: endpoint.secret,
    async sendEmail() {
      const email = {
        from: "orders@shop.example.test",
        to: ["ada@customer.test"],
        // A second serialization may write these characters differently.
        subject: 'Your receipt: 1, 2 and "3" – ünïcödé \u{1f4e8}',
        html: '<a href="https://shop.example.test/?a=1&b=2">Receipt</a>',
      };
      return (await result<Send>(202, "POST", "/v1/emails", email)).send_id;
    },
    getSend: (sendId) => result(200, "GET", `/v1/sends/${sendId}`),
    events,
    redeliver: async (eventId) =>
      (await call("POST", `/v1/webhook-events/${eventId}:redeliver`)).status,
    async rotateSecret() {
      const path = `/v1/webhook-endpoints/${id}:rotate-secret`;
      return (await result<EndpointWithSecret>(200, "POST", path)).secret;
    },
    async addFault(kind, times) {
      const response = await call("POST", "/_sandbox/faults", { target: id, kind, times });
      expect(response.status).toBe(201);
    },
    async advance(ms) {
      const end = sandbox.clock.now() + ms;
      let due: number | undefined = sandbox.clock.now();
      do {
        await sandbox.clock.advance(Math.max(0, due - sandbox.clock.now()));
        // The clock itself waits only half a second for a receiver.
        await until(hasEnded, "every attempt that is due ends");
        due = sandbox.clock.nextDue;
      } while (due !== undefined && due <= end);
      await sandbox.clock.advance(end - sandbox.clock.now());
    },
  };
}
