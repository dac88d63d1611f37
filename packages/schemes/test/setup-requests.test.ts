import { createReceiver, type Receiver, type Scheme } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/node";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { meta, notion, woocommerce } from "../src/index.js";

interface Sent {
  readonly method?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether the body has no `Content-Length`. */
  readonly isChunked?: boolean;
}

interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Way = (receiver: Receiver, sent: Sent) => Promise<Received>;

const lengthOf = ({ body, isChunked }: Sent): Readonly<Record<string, string>> =>
  body === undefined || isChunked ? {} : { "content-length": String(Buffer.byteLength(body)) };

const fetched: Way = async (receiver, sent) => {
  const { method = "POST", query = "", headers, body } = sent;
  const response = await receiver.fetch(
    new Request(`https://app.test/hooks${query}`, {
      method,
      headers: { ...lengthOf(sent), ...headers },
      body: body ?? null,
    }),
  );
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
};

const overHttp: Way = async (receiver, sent) => {
  const { method = "POST", query = "", headers, body } = sent;
  const handler = webhooks(receiver);
  const server = createServer((incoming, response) => void handler(incoming, response));
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = request({
    port: (server.address() as AddressInfo).port,
    method,
    path: `/hooks${query}`,
    agent: false,
    headers: { ...lengthOf(sent), ...headers },
  });
  if (body !== undefined) client.write(body);
  client.end();
  const [response] = (await once(client, "response")) as [IncomingMessage];
  return {
    status: response.statusCode ?? 0,
    headers: response.headers as Record<string, string>,
    body: await text(response),
  };
};

/** A receiver with a scheme, its log lines, and the events that its handler received. */
function built(scheme: Scheme, ...secrets: readonly unknown[]) {
  const [secret] = secrets.length > 0 ? secrets : ["a secret"];
  const lines: string[] = [];
  const events: unknown[] = [];
  const receiver = createReceiver({
    scheme,
    secret: secret as string,
    on: { "*": (event) => void events.push(event) },
    log: (line) => void lines.push(line),
  });
  // The notice about what the sender does not sign.
  lines.length = 0;
  return { receiver, lines, events };
}

const ways: readonly (readonly [string, Way])[] = [
  ["receiver.fetch", fetched],
  ["node:http", overHttp],
];

const token = "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl";
const bodyOf = (value: string) => JSON.stringify({ verification_token: value });
const signed = (body: string, key = token) => ({
  "x-notion-signature": `sha256=${createHmac("sha256", key).update(body).digest("hex")}`,
});

describe.each(ways)("over %s, Notion's first request", (_way, send) => {
  test.each<[string, Sent]>([
    ["signed with its token", { body: bodyOf(token), headers: signed(bodyOf(token)) }],
    ["without a signature", { body: bodyOf(token) }],
    ["with white space", { body: `\n{ "verification_token" :\t"${token}" }\r\n` }],
  ])("%s gets 200, and its token is logged once", async (_what, sent) => {
    const { receiver, lines, events } = built(notion({ setup: true }), "");
    expect((await send(receiver, sent)).status).toBe(200);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`the verification token in the request is ${token}. Enter it`);
    const other = bodyOf("another_token");
    for (const headers of [{}, signed(other, "another_token")]) {
      expect((await send(receiver, { body: other, headers })).status).toBe(200);
    }
    expect(lines).toHaveLength(1);
    expect(events).toEqual([]);
  });

  test.each<[string, Sent, number]>([
    ["with a second member", { body: `{"verification_token":"${token}","id":"1"}` }, 401],
    [
      "with the token twice",
      { body: `{"verification_token":"${token}","verification_token":"${token}"}` },
      401,
    ],
    ["with a short token", { body: bodyOf("secret_") }, 401],
    ["with a long token", { body: bodyOf("x".repeat(257)) }, 401],
    ["with a line break in the token", { body: bodyOf(`${token}\n`) }, 401],
    ["with an escape in the token", { body: `{"verification_token":"${token}\\u0041"}` }, 401],
    ["with a color code in the token", { body: bodyOf(`${token}\u001b[31m`) }, 401],
    ["in a list", { body: `[${bodyOf(token)}]` }, 401],
    ["with text after it", { body: `${bodyOf(token)}x` }, 401],
    ["with a second object after it", { body: bodyOf(token) + bodyOf(token) }, 401],
    ["with text before it", { body: `x${bodyOf(token)}` }, 401],
    ["after a byte order mark", { body: `\ufeff${bodyOf(token)}` }, 401],
    ["of 1,025 bytes", { body: bodyOf(token).padEnd(1_025) }, 401],
    ["without Content-Length", { body: bodyOf(token), isChunked: true }, 401],
    [
      "with a signature of another token",
      { body: bodyOf(token), headers: signed(bodyOf(token), "another") },
      401,
    ],
    ["with a signature of another body", { body: bodyOf(token), headers: signed("{}") }, 401],
    [
      "with a malformed signature",
      { body: bodyOf(token), headers: { "x-notion-signature": "sha256=00" } },
      401,
    ],
    [
      "of 1,025 bytes, with a signature",
      { body: bodyOf(token).padEnd(1_025), headers: signed(bodyOf(token).padEnd(1_025)) },
      401,
    ],
    ["as GET", { method: "GET", query: `?verification_token=${token}` }, 405],
  ])("%s is refused, and its token is not logged", async (_what, sent, status) => {
    const { receiver, lines, events } = built(notion({ setup: true }), "");
    expect((await send(receiver, sent)).status).toBe(status);
    expect(lines.join()).not.toContain(token);
    expect(events).toEqual([]);
    // It does not use up the one line.
    expect((await send(receiver, { body: bodyOf(token) })).status).toBe(200);
    expect(lines.at(-1)).toContain(token);
  });

  test("is refused if a secret is set, even with the option, or without the option", async () => {
    for (const options of [{ setup: true }, { setup: false }, {}]) {
      const { receiver, lines } = built(notion(options), "secret_of_the_receiver");
      for (const headers of [{}, signed(bodyOf(token))]) {
        expect((await send(receiver, { body: bodyOf(token), headers })).status).toBe(401);
      }
      expect(lines.join()).not.toContain(token);
    }
  });

  test("is acknowledged again if its token is the secret, and not logged", async () => {
    const { receiver, lines, events } = built(notion(), token);
    const sent = { body: bodyOf(token), headers: signed(bodyOf(token)) };
    expect((await send(receiver, sent)).status).toBe(200);
    expect(lines.join()).not.toContain(token);
    expect(events).toEqual([]);
  });
});

describe("a receiver of Notion without a secret", () => {
  test("accepts no event, whatever its signature", async () => {
    const { receiver, events } = built(notion({ setup: true }), "");
    const body = JSON.stringify({ id: "evt_1", type: "page.created", verification_token: token });
    for (const bytes of [Buffer.from(""), Buffer.of(0xff), Buffer.from("ÿ"), Buffer.from(token)]) {
      const digest = createHmac("sha256", bytes).update(body).digest("hex");
      const headers = { "x-notion-signature": `sha256=${digest}` };
      expect((await fetched(receiver, { body, headers })).status).toBe(401);
    }
    expect(events).toEqual([]);
  });

  const refusal = (option: string) =>
    expect.objectContaining({
      code: "invalid_secret",
      option,
      message: expect.stringMatching(/^`secret.*` is empty\..*notion\(\{ setup: true \}\)/),
    });

  test.each<[string, unknown, string]>([
    ["without the option", "", "secret"],
    ["without the option, undefined", undefined, "secret"],
  ])("is refused %s", (_what, secret, option) => {
    expect(() => built(notion(), secret)).toThrow(refusal(option));
  });

  test.each<[string, unknown, string]>([
    ["a list of an empty text", [""], "secret[0]"],
    ["a list with an empty text", ["secret_1", ""], "secret[1]"],
    ["a named key", [{ id: "notion", key: "" }], "secret[0].key"],
  ])("is refused with %s, even with the option", (_what, secret, option) => {
    expect(() => built(notion({ setup: true }), secret)).toThrow(refusal(option));
  });

  test.each(["null", " ", new Uint8Array(0), Uint8Array.of(0xff)])(
    "is refused with the secret %j, even with the option",
    (secret) => {
      expect(() => built(notion({ setup: true }), secret)).toThrow(
        expect.objectContaining({ code: "invalid_secret" }),
      );
    },
  );

  test("has no setup if a function returns an empty secret", async () => {
    const { receiver, lines } = built(notion({ setup: true }), () => "");
    expect((await fetched(receiver, { body: bodyOf(token) })).status).toBe(401);
    const headers = signed(bodyOf(token));
    expect((await fetched(receiver, { body: bodyOf(token), headers })).status).toBe(500);
    expect(lines.join()).toContain("`secret()` is empty. Set it to the verification token.");
    expect(lines.join()).not.toContain(token);
  });

  test.each(["", undefined])("is built with setup and the secret %j", (secret) => {
    expect(() => built(notion({ setup: true }), secret)).not.toThrow();
  });
});

describe.each(ways)("over %s, WooCommerce's first request", (_way, send) => {
  const form = { "content-type": "application/x-www-form-urlencoded" };

  test.each(["1", "2147483647", "9".repeat(20)])("with the id %s gets 200", async (id) => {
    const { receiver, events } = built(woocommerce());
    const { status } = await send(receiver, { body: `webhook_id=${id}`, headers: form });
    expect(status).toBe(200);
    expect(events).toEqual([]);
  });

  test.each<[string, Sent]>([
    ["with a second field", { body: "webhook_id=1&a=1" }],
    ["with a longer id", { body: `webhook_id=${"9".repeat(21)}` }],
    ["without an id", { body: "webhook_id=" }],
    ["with a line break", { body: "webhook_id=1\n" }],
    ["with another name", { body: "webhook_ids=1" }],
    ["of 1,025 bytes", { body: `webhook_id=${"1".repeat(1_014)}` }],
    ["without Content-Length", { body: "webhook_id=1", isChunked: true }],
    [
      "with a signature",
      { body: "webhook_id=1", headers: { "x-wc-webhook-signature": `${"A".repeat(43)}=` } },
    ],
    ["as JSON", { body: '{"webhook_id":1}' }],
    ["without a body", { body: "" }],
  ])("%s is refused", async (_what, sent) => {
    const { receiver, events } = built(woocommerce());
    expect((await send(receiver, sent)).status).toBe(401);
    expect(events).toEqual([]);
  });
});

const verifyToken = "meatyhamhock";
const queryOf = (values: Readonly<Record<string, string>>) =>
  `?${new URLSearchParams({ "hub.mode": "subscribe", "hub.challenge": "1158201444", ...values })}`;
const genuine = queryOf({ "hub.verify_token": verifyToken });

describe.each(ways)("over %s, Meta's request that verifies the endpoint", (_way, send) => {
  const get = async (scheme: Scheme, query: string, method = "GET") => {
    const { receiver, lines, events } = built(scheme);
    const response = await send(receiver, { method, query });
    expect(events).toEqual([]);
    return { ...response, lines };
  };

  test.each(["1158201444", "a-B_c.d~", "1".repeat(256)])(
    "gets its challenge %s as text",
    async (challenge) => {
      const query = queryOf({ "hub.verify_token": verifyToken, "hub.challenge": challenge });
      expect(await get(meta({ verifyToken }), query)).toMatchObject({
        status: 200,
        body: challenge,
        headers: {
          "content-type": "text/plain; charset=utf-8",
          "x-content-type-options": "nosniff",
          "cache-control": "no-store",
        },
      });
    },
  );

  test.each<[string, string]>([
    ["a wrong token", queryOf({ "hub.verify_token": "wrong" })],
    ["a longer token", queryOf({ "hub.verify_token": `${verifyToken}x` })],
    ["the start of the token", queryOf({ "hub.verify_token": verifyToken.slice(0, -1) })],
    ["an empty token", queryOf({ "hub.verify_token": "" })],
    ["no token", queryOf({})],
  ])("with %s is refused, and the fix is logged", async (_what, query) => {
    const { status, body, lines } = await get(meta({ verifyToken }), query);
    expect(status).toBe(405);
    expect(body).not.toContain("1158201444");
    expect(lines).toEqual([expect.stringMatching(/has another verify token\. Set `verifyToken`/)]);
    expect(lines.join()).not.toMatch(/wrong|meatyhamhock|1158201444/);
  });

  test.each<[string, string]>([
    [
      "markup in the challenge",
      queryOf({ "hub.verify_token": verifyToken, "hub.challenge": "<b>" }),
    ],
    [
      "a line break in the challenge",
      queryOf({ "hub.verify_token": verifyToken, "hub.challenge": "1\n" }),
    ],
    [
      "257 characters",
      queryOf({ "hub.verify_token": verifyToken, "hub.challenge": "1".repeat(257) }),
    ],
    ["an empty challenge", queryOf({ "hub.verify_token": verifyToken, "hub.challenge": "" })],
    ["two challenges", `${genuine}&hub.challenge=2`],
    ["two tokens", `${genuine}&hub.verify_token=${verifyToken}`],
    ["two modes", `${genuine}&hub.mode=subscribe`],
    ["another mode", queryOf({ "hub.mode": "unsubscribe", "hub.verify_token": verifyToken })],
    ["no query", ""],
  ])("with %s is refused", async (_what, query) => {
    const { status, body, lines } = await get(meta({ verifyToken }), query);
    expect(body).not.toContain("hub");
    expect(status).toBe(405);
    expect(lines).toEqual([]);
  });

  test("is refused without the option, and the fix is logged once a minute", async () => {
    const { receiver, lines } = built(meta());
    for (let n = 0; n < 3; n += 1) {
      expect((await send(receiver, { method: "GET", query: genuine })).status).toBe(405);
    }
    expect(lines).toEqual([expect.stringMatching(/Pass meta\(\{ verifyToken \}\)/)]);
  });

  test.each(["PUT", "DELETE", "OPTIONS"])("as %s is refused", async (method) => {
    expect((await get(meta({ verifyToken }), genuine, method)).status).toBe(405);
  });
});

test("a verify token beyond ASCII is compared as text", async () => {
  const { receiver } = built(meta({ verifyToken: "geheim & süß" }));
  const query = queryOf({ "hub.verify_token": "geheim & süß" });
  expect((await fetched(receiver, { method: "GET", query })).status).toBe(200);
});
