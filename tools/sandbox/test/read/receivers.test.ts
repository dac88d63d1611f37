import { present } from "@svc-webhooks/kit/present";
import { listen } from "@svc-webhooks/kit/servers";
import { describe, expect, test } from "vitest";
import { open, receiver, type Opened } from "../support.js";
import { mailbox } from "../mail/mailbox.js";

/** Sends one email, makes the attempts that are due, and returns the findings. */
async function health(sandbox: Opened) {
  await sandbox.send();
  await sandbox.settle();
  return (await sandbox.control("GET overview")).body.health;
}

type Stated = Awaited<ReturnType<typeof health>>[number] | undefined;

/** Returns what a finding states: what happened, and the cause. */
const statementOf = (finding: Stated) => `${finding?.happened} ${finding?.cause ?? ""}`.trimEnd();

const oneEvent = { "A-04": { "send.sent": "email.sent" }, "A-09": "none" };

interface Case {
  readonly what: string;
  readonly code: string;
  readonly text: RegExp;
  readonly url: (sandbox: Opened) => Promise<string> | string;
  readonly assumptions?: Readonly<Record<string, string>>;
}

const cases: readonly Case[] = [
  {
    what: "a redirect",
    code: "receiver_redirects",
    text: /responded with 302\. Redirects are not followed \(A-10\)\.$/,
    url: async () => (await receiver(302)).url,
  },
  {
    what: "500 with a code",
    code: "receiver_responds_5xx",
    text: /responded with 500 handler_failed\. The handler failed\. .+\.$/,
    url: async () => (await receiver(500, { text: '{"error":{"code":"handler_failed"}}' })).url,
  },
  {
    what: "204 where only 200 is a success",
    code: "receiver_fails",
    text: /responded with 204\. Only 200 counts as a success \(A-10\)\.$/,
    url: async () => (await receiver(204)).url,
    assumptions: { "A-10": "only200" },
  },
  {
    what: "a handler that throws",
    code: "receiver_fails",
    text: /The receiver threw, or its response could not be read: out of paper$/,
    url({ sandbox }) {
      sandbox.deliverTo(() => Promise.reject(new Error("out of paper")));
      return "http://127.0.0.1:1/webhooks";
    },
  },
  {
    what: "a connection that is closed",
    code: "receiver_fails",
    text: /The connection was closed before a response arrived\.$/,
    url: async () => `http://127.0.0.1:${await listen(({ socket }) => socket.destroy())}/webhooks`,
  },
  {
    what: "a receiver without TLS",
    code: "receiver_fails",
    text: /This port does not use TLS\. .+\.$/,
    url: async () => (await receiver()).url.replace("http:", "https:"),
  },
];

describe("the finding of a receiver", () => {
  test.each(cases)("states what happened: $what", async ({ code, text, url, assumptions = {} }) => {
    const sandbox = await open({ assumptions: { ...oneEvent, ...assumptions } });
    const target = await url(sandbox);
    await sandbox.endpoint(target);
    const [finding] = await health(sandbox);
    expect(finding).toMatchObject({
      code,
      severity: "error",
      happened: expect.stringContaining(target),
      item: expect.stringMatching(/^dlv_/),
    });
    expect(statementOf(finding)).toMatch(text);
    const route = present(finding).route as "GET deliveries/x/attempts/1";
    const { status, body } = await sandbox.call(route);
    expect([status, body.ok]).toEqual([200, false]);
  });

  test("reports a name that has no address", async () => {
    let isKnown = true;
    const sandbox = await open({
      assumptions: oneEvent,
      lookup: () =>
        isKnown
          ? Promise.resolve([{ address: "127.0.0.1", family: 4 }])
          : Promise.reject(Object.assign(new Error("ENOTFOUND"), { code: "ENOTFOUND" })),
    });
    await sandbox.endpoint("http://hooks.example.test:1/webhooks");
    isKnown = false;
    expect((await health(sandbox))[0]).toMatchObject({
      code: "receiver_fails",
      cause: expect.stringMatching(
        /^The host name hooks\.example\.test does not resolve to an address\. /,
      ),
    });
  });

  test("comes before a domain event that no endpoint wants, which is no error", async () => {
    const emits = { "send.sent": "email.sent", "domain.verified": "domain.updated" };
    const sandbox = await open({ assumptions: { "A-04": emits, "A-09": "none" } });
    const { url } = await receiver(401);
    await sandbox.control("POST endpoints", { url, event_types: ["email.sent"] });
    const { body } = await sandbox.call("POST /v1/domains", { domain_name: "example.test" });
    await sandbox.call(`POST /v1/domains/${body.domain_id}:verify`);
    const found = await health(sandbox);
    expect(found[0]).toMatchObject({ code: "receiver_responds_4xx", severity: "error" });
    expect(found).toContainEqual(
      expect.objectContaining({ code: "type_not_subscribed", severity: "info" }),
    );
  });

  test.each([
    ["immediate", /since \d{4}-.+, attempts are signed with the new secret \(A-19\)\.$/],
    ["pinned", /since \d{4}-.+, new deliveries are signed with the new secret \(A-19\)\.$/],
    ["deferred:1h", /until \d{4}-.+, attempts are signed with the previous secret \(A-19\)\.$/],
  ])("mentions a rotation (A-19=%s) for a day", async (word, text) => {
    const sandbox = await open({ assumptions: { ...oneEvent, "A-19": word } });
    const { id } = await sandbox.endpoint((await receiver(401)).url);
    expect(statementOf((await health(sandbox))[0])).not.toContain("rotated");
    await sandbox.control(`POST endpoints/${id}/rotate-secret`);
    expect((await health(sandbox))[0]?.cause).toMatch(text);
    await sandbox.sandbox.clock.advance(90_001_000);
    expect(statementOf((await health(sandbox))[0])).not.toContain("rotated");
  });

  test("has the body of the request that applies its fix", async () => {
    const sandbox = await open({ assumptions: { "A-04": { "send.sent": "email.sent" } } });
    await sandbox.endpoint((await receiver(401)).url);
    const [refused, waits] = await health(sandbox);
    expect(refused?.body).toEqual({ value: "sha256=…" });
    expect(waits).toMatchObject({ code: "clock_stands_still", body: { to: "next" } });
    const { route, body } = present(waits);
    expect((await sandbox.call(route, body)).status).toBe(200);
  });
});

test("a relay that fails is a finding until an email is passed on", async () => {
  let isFull = true;
  const { smtp } = await mailbox({
    onRcptTo: (_address, _session, callback) => callback(isFull ? new Error("full") : undefined),
  });
  const sandbox = await open({ smtp });
  const read = async () =>
    (await sandbox.control("GET overview")).body.health.filter(
      ({ code }: { readonly code: string }) => code === "relay_failed",
    );
  const { body } = await sandbox.send();
  await expect.poll(read).toMatchObject([
    {
      severity: "warning",
      happened: expect.stringMatching(/^The newest email was not relayed: .+ responded 550\.$/),
      item: body.send_id,
    },
  ]);
  const { route } = present((await read())[0]);
  isFull = false;
  await sandbox.call(route);
  await expect.poll(read).toEqual([]);
});
