import type { OutcomeCode } from "@svc-webhooks/core";
import { outcomeTexts } from "@svc-webhooks/core/outcomes";
import { present } from "@svc-webhooks/kit/present";
import { statuses } from "@svc-webhooks/kit/statuses";
import { describe, expect, test } from "vitest";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import { impatient, receiver, open, type Opened } from "../support.js";

interface Case {
  readonly code: string;
  readonly options?: SandboxOptions;
  readonly severity: "error" | "warning" | "info";
  readonly provoke: (sandbox: Opened) => Promise<unknown>;
  /** Applies the fix, after which the finding is gone. */
  readonly fix: (sandbox: Opened, route: string) => Promise<unknown>;
}

const ignored = '{"status":"ignored"}';

const types = (url: string, ...event_types: string[]) => ({ url, event_types });

const register = async ({ control, send, settle }: Opened, route: string) => {
  expect(route).toBe("POST /_sandbox/endpoints");
  const { url } = await receiver();
  await control("POST endpoints", types(url, "email.sent", "email.delivered"));
  await send();
  await settle();
};

const sendTo = async ({ endpoint, send, settle }: Opened, url: string) => {
  await endpoint(url);
  await send();
  await settle();
};

/** Returns a function that checks the finding, and sends its request to set an assumption. */
const applied =
  (text: string, id: string, value: string) => async (sandbox: Opened, route: string) => {
    expect(route).toBe(`POST /_sandbox/assumptions/${id}`);
    const [finding] = (await sandbox.control("GET overview")).body.health;
    expect(finding?.happened).toBe(text);
    expect(finding?.body).toEqual({ value });
    await sandbox.control(`POST assumptions/${id}`, finding?.body);
  };

/** Archives all endpoints, including the failing one. */
const archiveAll = async ({ control }: Opened) => {
  for (const { webhook_endpoint_id: id } of (await control("GET endpoints")).body.data)
    await control(`POST endpoints/${id}/archive`);
};

const cases: readonly Case[] = [
  {
    code: "no_endpoint",
    severity: "error",
    provoke: async ({ send, settle }) => {
      await send();
      await settle();
    },
    fix: register,
  },
  {
    code: "type_not_subscribed",
    severity: "error",
    provoke: async ({ control, send, settle }) => {
      await control("POST endpoints", types("http://localhost:1/", "domain.updated"));
      await send();
      await settle();
    },
    fix: register,
  },
  {
    code: "all_archived",
    severity: "error",
    provoke: async (sandbox) => {
      await sandbox.endpoint("http://localhost:1/");
      await archiveAll(sandbox);
      await sandbox.send();
      await sandbox.settle();
    },
    fix: register,
  },
  {
    code: "not_emitted",
    severity: "error",
    provoke: async ({ control, send, settle }) => {
      await control("POST assumptions/A-04", { value: "none" });
      await send();
      await settle();
    },
    fix: applied("No event is raised for send.delivered (A-04).", "A-04", "named"),
  },
  {
    code: "not_emitted",
    severity: "error",
    options: { assumptions: { "A-03": "extra:email.opened" } },
    provoke: async ({ send, settle }) => {
      await send({ to: ["bounced@grace.test"] });
      await settle();
    },
    fix: applied(
      "email.bounced was not raised, because it is not an event type (A-03).",
      "A-03",
      "extra:email.opened,email.bounced",
    ),
  },
  {
    code: "not_emitted",
    severity: "error",
    options: {
      assumptions: {
        "A-07": () => {
          throw new Error("no body");
        },
      },
    },
    provoke: async (sandbox) => sendTo(sandbox, (await receiver()).url),
    fix: applied(
      "email.delivered was raised, but the function for its body (A-07) threw an error.",
      "A-07",
      "envelope",
    ),
  },
  {
    code: "url_refused",
    severity: "error",
    provoke: async (sandbox) => {
      await sandbox.endpoint((await receiver()).url);
      await sandbox.control("POST assumptions/A-21", { value: "strict" });
      await sandbox.send();
      await sandbox.settle();
    },
    fix: archiveAll,
  },
  {
    code: "fault_waiting",
    severity: "warning",
    provoke: ({ control }) =>
      control("POST faults", { target: "POST /v1/emails", kind: "reset", times: 2 }),
    fix: ({ call }, route) => {
      expect(route).toMatch(/^POST \/_sandbox\/faults\/fault_\w+\/cancel$/);
      return call(route);
    },
  },
  {
    code: "receiver_refused_connection",
    severity: "error",
    provoke: (sandbox) => sendTo(sandbox, "http://127.0.0.1:1/webhooks"),
    fix: async (sandbox, route) => {
      expect(route).toMatch(/^POST \/_sandbox\/deliveries\/dlv_\w+\/run-now$/);
      sandbox.sandbox.deliverTo(() => new Response());
      await sandbox.call(route);
      await sandbox.settle();
    },
  },
  {
    code: "receiver_responds_4xx",
    severity: "error",
    provoke: async (sandbox) =>
      sendTo(
        sandbox,
        (await receiver(401, { text: '{"error":{"code":"signature_mismatch"}}' })).url,
      ),
    fix: async (sandbox, route) => {
      expect(route).toMatch(/^POST .+\/attempts\/1\/explain$/);
      const { body } = await sandbox.call(route as "POST deliveries/x/explain", {
        value: "sha256=0",
      });
      expect(body.verdict).toBe("unknown");
      await archiveAll(sandbox);
    },
  },
  {
    code: "url_registered_twice",
    severity: "error",
    provoke: async (sandbox) => {
      const { url } = await receiver(401, { text: '{"error":{"code":"signature_mismatch"}}' });
      await sandbox.endpoint(url);
      await sendTo(sandbox, url);
    },
    fix: async (sandbox, route) => {
      expect(route).toMatch(/^POST \/_sandbox\/endpoints\/we_\w+\/archive$/);
      await sandbox.call(route as "POST endpoints/x/archive");
    },
  },
  {
    code: "receiver_slow",
    options: { clock: impatient },
    severity: "error",
    provoke: async (sandbox) => {
      await sandbox.control("POST assumptions/A-10", { value: "timeout:1s" });
      sandbox.sandbox.deliverTo(() => new Promise<Response>(() => {}));
      await sendTo(sandbox, "http://127.0.0.1:1/webhooks");
      await sandbox.sandbox.clock.advance(1_000);
    },
    fix: async (sandbox, route) => {
      expect(route).toBe("POST /_sandbox/assumptions/A-10");
      sandbox.sandbox.deliverTo(() => new Response());
      await sandbox.sandbox.clock.advance(200_000);
    },
  },
  {
    code: "receiver_ignores",
    severity: "info",
    provoke: async (sandbox) => sendTo(sandbox, (await receiver(200, { text: ignored })).url),
    fix: async (sandbox, route) => {
      expect(route).toMatch(/^GET .+\/attempts\/1$/);
      await archiveAll(sandbox);
    },
  },
  {
    code: "clock_stands_still",
    severity: "warning",
    provoke: async (sandbox) => sendTo(sandbox, (await receiver([500, 500, 200])).url),
    fix: async ({ control }, route) => {
      expect(route).toBe("POST /_sandbox/clock");
      await control("POST clock", { to: "next" });
    },
  },
  {
    code: "waiting",
    severity: "info",
    provoke: async (sandbox) => {
      await sendTo(sandbox, (await receiver([500, 500, 200])).url);
      await sandbox.control("POST clock", { mode: "real" });
    },
    fix: ({ control }) => control("POST clock", { to: "next" }),
  },
  {
    code: "call_rejected",
    severity: "error",
    provoke: ({ call }) => call("POST /v1/emails", {}),
    fix: async ({ call, send }, route) => {
      const { body } = await call(route as "GET calls/x");
      expect(JSON.parse(body.response.body.text).error.code).toBe("invalid_request");
      await send();
    },
  },
  {
    code: "wrong_base_url",
    severity: "warning",
    provoke: ({ call }) => call("GET /v1/sends/send_x"),
    fix: ({ send }) => send(),
  },
  {
    code: "wrong_base_url",
    severity: "error",
    provoke: ({ call }) => call("POST /emails", {}),
    fix: async ({ sandbox, send }) => {
      await sandbox.clock.advance(1);
      await send();
    },
  },
];

const refusals = Object.entries(statuses).filter(([, status]) => status >= 400) as [
  OutcomeCode,
  number,
][];

test.each(refusals)("the finding of %s has its cause and its fix", async (code, status) => {
  const sandbox = await open();
  const text = JSON.stringify({ error: { code } });
  await sendTo(sandbox, (await receiver(status, { text })).url);
  const [finding] = (await sandbox.control("GET overview")).body.health;
  const { happened, cause, fix } = outcomeTexts[code];
  expect(finding?.happened).toContain(` ${status} ${code}. ${happened}`);
  expect(finding?.cause).toBe(cause);
  expect(finding?.fix).toBe(
    code === "signature_mismatch" ? "Explain the signature that your code computes." : fix,
  );
});

describe("a finding", () => {
  test.each(cases)("$code ($severity) is made, and its fix removes it", async (row) => {
    const sandbox = await open(row.options);
    const health = async () => (await sandbox.control("GET overview")).body.health;
    expect(await health()).toEqual([]);
    await row.provoke(sandbox);
    const found = (await health()).find(({ code }: { code: string }) => code === row.code);
    expect(found).toMatchObject({
      severity: row.severity,
      happened: expect.stringMatching(/^[A-Z\d].+\.$|^\w+\.\w+ was (?:not )?raised.+\.$/),
      fix: expect.stringMatching(/\.$/),
      route: expect.stringMatching(/^(GET|POST) \//),
    });
    await row.fix(sandbox, present(found).route);
    expect((await health()).map(({ code }: { code: string }) => code)).not.toContain(row.code);
  });

  test("names the code that the receiver gave, and the item", async () => {
    const sandbox = await open();
    const { url } = await receiver(401, { text: '{"error":{"code":"signature_mismatch"}}' });
    await sendTo(sandbox, url);
    const [finding] = (await sandbox.control("GET overview")).body.health;
    const { happened, cause } = outcomeTexts.signature_mismatch;
    expect(finding).toMatchObject({
      happened: `The receiver at ${url} responded with 401 signature_mismatch. ${happened}`,
      cause,
    });
    expect((await sandbox.control(`GET deliveries/${finding?.item}`)).body.url).toBe(url);
  });

  test("is not made of an attempt that was tampered with, or that a fault hit", async () => {
    const sandbox = await open({ assumptions: { "A-04": { "send.sent": "email.sent" } } });
    const { url } = await receiver([200, 401, 200]);
    const { id } = await sandbox.endpoint(url);
    await sandbox.send();
    await sandbox.settle();
    const deliveries = (await sandbox.control("GET timeline")).body.data[0]?.events[0]?.deliveries;
    await sandbox.control(`POST deliveries/${deliveries?.[0]?.id}/send`, {
      tamper: "missing_header",
    });
    await sandbox.settle();
    await sandbox.control("POST faults", { target: id, kind: "refused" });
    await sandbox.control(`POST deliveries/${deliveries?.[0]?.id}/send`);
    await sandbox.settle();
    expect((await sandbox.control("GET overview")).body.health).toMatchObject([
      { code: "not_emitted", severity: "info" },
    ]);
  });

  test("is no error if another event of the same call was delivered", async () => {
    const sandbox = await open();
    await sandbox.control("POST endpoints", types((await receiver()).url, "email.delivered"));
    await sandbox.send();
    await sandbox.settle();
    expect((await sandbox.control("GET overview")).body.health).toMatchObject([
      { code: "type_not_subscribed", severity: "info" },
    ]);
  });

  test("is one of at most five, worst first, receivers before others, one for each endpoint", async () => {
    const sandbox = await open();
    const { control, call, send, settle, endpoint } = sandbox;
    const urls = ["http://127.0.0.1:1/a", "http://127.0.0.1:1/b", (await receiver(404)).url];
    for (const url of urls) await endpoint(url);
    await send();
    await settle();
    await control("POST faults", { target: "POST /v1/emails", kind: "reset" });
    await call("GET /v1/sends/send_x");
    await call("POST /emails", {});
    await call("POST /v1/webhook-endpoints", {});
    const health = (await control("GET overview")).body.health;
    expect(health.map(({ code }) => code)).toEqual([
      "receiver_refused_connection",
      "receiver_refused_connection",
      "receiver_responds_4xx",
      "wrong_base_url",
      "call_rejected",
    ]);
    for (const [index, url] of urls.entries()) expect(health[index]?.happened).toContain(url);
  });
});
