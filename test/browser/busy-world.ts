import { sign } from "@svc-webhooks/core";
import type { Sandbox, SandboxOptions } from "@svc-webhooks/sandbox";

/** Options for a sandbox in which `makeBusy` always creates the same world, with the same ids and times. */
export const busyOptions = {
  seed: 1,
  clock: { mode: "manual", start: Date.UTC(2026, 10, 21, 13, 58, 2) },
  // The page shows the sandbox's log lines, so they are not printed.
  log: () => {},
} as const satisfies SandboxOptions;

export interface BusyWorld {
  /** The id of the active endpoint: `we_…`. */
  readonly endpoint: string;
  /** The endpoint's signing secret. */
  readonly secret: string;
  /** A delivery that has failed three times: connection refused, 500 and 401. Its fourth attempt is due in 10.6 s. */
  readonly failing: string;
  /** A delivery of which 20 copies were sent concurrently. */
  readonly copied: string;
  /** The signature that a receiver computes for `failing` if it parses and reserializes the body. */
  readonly reserialized: string;
}

interface Answer {
  readonly status: number;
  readonly code: string;
  /** How long the response takes, in milliseconds. */
  readonly ms: number;
}

const processed: Answer = { status: 200, code: "processed", ms: 4 };

/** The receiver's responses, by `<subject> <type> <attempt>`. */
const plan: Readonly<Record<string, Answer>> = {
  "Your receipt for order 1042 email.delivered 2": { status: 500, code: "handler_failed", ms: 38 },
  "Your receipt for order 1042 email.delivered 3": {
    status: 401,
    code: "signature_mismatch",
    ms: 3,
  },
};

interface Body {
  readonly type: string;
  readonly data: { readonly subject?: string };
}

/**
 * Returns a receiver that responds according to `plan`.
 *
 * @param takes is called with the duration of each response, in milliseconds
 */
const planned = (takes: (ms: number) => void) => async (request: Request) => {
  const { type, data } = (await request.json()) as Body;
  const key = `${data.subject ?? ""} ${type} ${request.headers.get("x-svc-attempt") ?? ""}`;
  const { status, code, ms } = plan[key] ?? processed;
  takes(ms);
  const content =
    status === 200 ? { status: code } : { error: { code, message: code.replaceAll("_", " ") } };
  return Response.json(content, { status, headers: { "cache-control": "no-store" } });
};

type Call = <Result>(
  route: string,
  body?: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<Result>;

/** Calls a route such as `"POST /v1/domains"` with an API key. Resolves to the parsed JSON, whatever the status. */
const caller =
  ({ fetch }: Pick<Sandbox, "fetch">, origin: string): Call =>
  async <Result>(route: string, body?: object, headers?: Readonly<Record<string, string>>) => {
    const [method = "", path = ""] = route.split(" ");
    const response = await fetch(
      new Request(origin + path, {
        method,
        headers: {
          authorization: "Bearer svc_test",
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        body: body === undefined ? null : JSON.stringify(body),
      }),
    );
    return (await response.json()) as Result;
  };

interface Timeline {
  readonly data: readonly {
    readonly send?: { readonly id: string };
    readonly events: readonly {
      readonly type: string;
      readonly deliveries: readonly { readonly id: string }[];
    }[];
  }[];
}

/**
 * Fills a sandbox that was created with `busyOptions`, through the interface and the control routes: an archived
 * endpoint, rejected calls, used faults and one that is still pending, an event that no endpoint received, deliveries
 * that succeeded after retries, and one that is still failing. This takes 5.5 minutes of sandbox time. The receiver is
 * a function in this process; no port is used.
 *
 * @param origin the base URL
 * @param takes is called with the duration of each of the receiver's responses, in milliseconds. Default: durations are
 *   ignored
 */
export async function makeBusy(
  sandbox: Pick<Sandbox, "fetch" | "deliverTo">,
  origin: string,
  takes: (ms: number) => void = () => {},
): Promise<BusyWorld> {
  sandbox.deliverTo(planned(takes));
  const call = caller(sandbox, origin);

  const until = async (time: string) => {
    const { now } = await call<{ readonly now: string }>("GET /_sandbox/clock");
    const advance_ms = Date.parse(`${now.slice(0, 11)}${time}Z`) - Date.parse(now);
    await call("POST /_sandbox/clock", { advance_ms });
  };
  const email = (to: string, subject: string, key?: string) =>
    call<{ readonly send_id: string }>(
      "POST /v1/emails",
      {
        from: "shop@mail.example.test",
        to: [to],
        subject,
        text: "Thank you.",
        html: mail(subject),
      },
      key === undefined ? {} : { "idempotency-key": key },
    );
  const delivered = async (sendId: string) => {
    const { data } = await call<Timeline>("GET /_sandbox/timeline");
    const events = data.find(({ send }) => send?.id === sendId)?.events ?? [];
    const [delivery] = events.find(({ type }) => type === "email.delivered")?.deliveries ?? [];
    if (!delivery) throw new Error(`${sendId} has no delivery of email.delivered.`);
    return delivery.id;
  };

  const domain = await call<{ readonly domain_id: string }>("POST /v1/domains", {
    domain_name: "mail.example.test",
  });
  await call("POST /v1/domains", { domain_name: "news.example.test" });
  const old = await register(call, "http://localhost:3000/hooks", ["email.delivered"]);
  await until("13:58:20.310");
  await call(`DELETE /v1/webhook-endpoints/${old.id}`);
  const { id: endpoint, secret } = await register(call, "http://localhost:3000/webhooks/mail", [
    "email.sent",
    "email.delivered",
  ]);

  await until("14:00:52.211");
  await email("grace@customer.test", "Welcome, Grace");

  await until("14:01:07.540");
  const unavailable = { target: endpoint, kind: "status", status: 503, times: 2 };
  await call("POST /_sandbox/faults", unavailable);
  const welcome = await email("grace@customer.test", "Welcome, Grace", "welcome-88");
  await until("14:01:20.000");
  const copied = await delivered(welcome.send_id);
  await call(`POST /_sandbox/deliveries/${copied}/send`, { times: 20, concurrent: true });

  await until("14:02:40.077");
  await call(`POST /v1/domains/${domain.domain_id}:verify`);
  await call("POST /_sandbox/assumptions/A-06", { value: "reject" });

  await until("14:03:18.902");
  const limited = { target: "POST /v1/emails", kind: "status", status: 429, retry_after: 2 };
  await call("POST /_sandbox/faults", limited);
  const receipt = ["ada@customer.test", "Your receipt for order 1042", "order-1042"] as const;
  await email(...receipt);

  await until("14:03:21.118");
  await call("POST /_sandbox/faults", { target: endpoint, kind: "refused", times: 2 });
  const accepted = await email(...receipt);
  await until("14:03:31.549");
  await call("POST /_sandbox/faults", limited);

  const failing = await delivered(accepted.send_id);
  const { body } = await call<{ readonly body: { readonly text: string } }>(
    `GET /_sandbox/deliveries/${failing}`,
  );
  const reserialized = await sign(JSON.stringify(JSON.parse(body.text)), secret);
  return { endpoint, secret, failing, copied, reserialized };
}

async function register(call: Call, url: string, event_types: readonly string[]) {
  const { webhook_endpoint, secret } = await call<{
    readonly webhook_endpoint: { readonly webhook_endpoint_id: string };
    readonly secret: string;
  }>("POST /v1/webhook-endpoints", { url, event_types });
  return { id: webhook_endpoint.webhook_endpoint_id, secret };
}

const mail = (subject: string) =>
  `<h1 style="font-family: sans-serif">${subject}</h1><p style="font-family: sans-serif">Thank you.</p>`;
