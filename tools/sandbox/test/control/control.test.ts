import { present } from "@svc-webhooks/kit/present";
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { email, hmac, open, receiver, type Opened } from "../support.js";

const ids = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id);

/** Opens a sandbox whose receiver fails once, and sends one email. */
async function story(options: Parameters<typeof open>[0] = {}) {
  const sandbox = await open(options);
  const { url, got } = await receiver([503, 200], { text: '{"error": {"code": "busy"}}' });
  const { id, secret } = await sandbox.endpoint(url);
  const { body: accepted } = await sandbox.send({ subject: "A receipt with “quotes”" });
  await sandbox.settle();
  const timeline = await sandbox.control("GET timeline");
  const [call] = timeline.body.data;
  const deliveries = call?.events.flatMap((event) => event.deliveries);
  const failed = present(deliveries?.find(({ state }) => state === "pending"));
  return {
    ...sandbox,
    receiverUrl: url,
    got,
    endpointId: id,
    secret,
    accepted,
    call,
    deliveries,
    failed,
  };
}

describe("GET /", () => {
  test("names the base URL, the page and the OpenAPI document", async () => {
    const { url, call } = await open();
    const { status, text, headers } = await call("GET /");
    expect(status).toBe(200);
    expect(headers.get("content-type")).toMatch(/^text\/plain/);
    expect(text).toContain(`interface at ${url}\n`);
    expect(text).toContain(`${url}/openapi.json`);
    expect(text).toContain(`Open ${url}/ in a browser`);
    expect(text).toContain(`${url}/_sandbox/\n`);
  });
});

describe("GET /_sandbox/deliveries", () => {
  test("lists deliveries as the interface does, with their attempts, and is not in the timeline", async () => {
    const { control, events, endpointId } = await story();
    const own = (await events(`&webhook_endpoint_id=${endpointId}`)).toReversed();
    const before = (await control("GET timeline")).body.data.length;
    const { body } = await control(`GET deliveries?webhook_endpoint_id=${endpointId}`);
    expect(body.data).toMatchObject(own);
    expect(body.data.at(-1)?.results).toMatchObject([{ n: 1, status: 503, code: "busy" }]);
    expect((await control("GET timeline")).body.data).toHaveLength(before);
  });

  test("has pages, and refuses a query that the interface refuses", async () => {
    const { control } = await story();
    const first = (await control("GET deliveries?limit=1")).body;
    expect(first).toMatchObject({ data: [{}], has_more: true });
    const second = (await control(`GET deliveries?limit=1&after=${first.next_cursor}`)).body;
    expect(second.data).not.toEqual(first.data);
    expect(await control("GET deliveries?limit=0")).toMatchObject({ status: 400 });
  });

  test("with an API key, it lists the deliveries of the key's account", async () => {
    const { call, send, settle } = await open({ assumptions: { "A-23": "per-key" } });
    await send();
    await settle();
    const authorization = "Bearer svc_test_other";
    const listed = await call("GET /_sandbox/deliveries", undefined, { authorization });
    expect(listed.body.data).toEqual([]);
  });
});

describe("GET /_sandbox/", () => {
  test("lists the control routes, and each of them exists", async () => {
    const { call } = await open();
    const { data } = (await call("GET /_sandbox/")).body;
    expect(data).toContain("POST /_sandbox/deliveries/:id/attempts/:n/explain");
    expect(data.length).toBeGreaterThan(30);
    for (const route of data as string[]) {
      if (route === "GET /_sandbox/stream") continue;
      const { status, body } = await call(route);
      // The error may be about an id that does not exist, but not about the path.
      expect([route, body?.error?.param]).not.toEqual([route, "path"]);
      expect([200, 201, 202, 400, 404, 409]).toContain(status);
    }
  });
});

describe("GET overview", () => {
  test("counts calls and deliveries by state", async () => {
    const { url, control } = await story();
    const { body } = await control("GET overview");
    expect(body).toMatchObject({
      epoch: expect.stringMatching(/^[0-9a-f]{12}$/),
      seq: expect.any(Number),
      base_url: url,
      clock: { mode: "manual", now: expect.stringMatching(/\.\d{3}Z$/), offset_ms: 0 },
      counts: {
        calls: 2,
        deliveries: 2,
        succeeded: 1,
        failed: 0,
        waiting: 1,
        sending: 0,
        not_sent: 0,
      },
      dropped: 0,
    });
    expect(Date.parse(body.clock.next_due) - Date.parse(body.clock.now)).toBe(1_000);
  });

  test("counts calls that were dropped, from the last reset on", async () => {
    const { send, settle, control } = await open({ maxDeliveries: 20 });
    for (let n = 0; n < 120; n += 1) await send();
    await settle();
    expect((await control("GET overview")).body.dropped).toBeGreaterThan(50);
    await control("POST reset");
    expect((await control("GET overview")).body.dropped).toBe(0);
  });
});

describe("GET timeline", () => {
  test("joins a call with its send, events, deliveries and attempts", async () => {
    const { call, accepted, endpointId, receiverUrl, failed } = await story();
    expect(call).toMatchObject({
      method: "POST",
      path: "/v1/emails",
      status: 202,
      ms: expect.any(Number),
      idempotency_key: expect.any(String),
      replayed: false,
      send: {
        id: accepted.send_id,
        subject: "A receipt with “quotes”",
        to: email.to,
        history: [{ status: "accepted" }, { status: "sent" }, { status: "delivered" }],
      },
      events: [
        { id: expect.stringMatching(/^src_/), type: "email.sent" },
        { id: expect.stringMatching(/^src_/), type: "email.delivered" },
      ],
    });
    expect(failed).toMatchObject({
      id: expect.stringMatching(/^dlv_/),
      endpoint_id: endpointId,
      url: receiverUrl,
      state: "pending",
      attempts: [{ n: 1, trigger: "event", status: 503, code: "busy" }],
      next: { n: 2, of: 5, at: expect.any(String) },
      assumptions: ["A-09", "A-10"],
    });
  });

  test("counts attempts by the schedule of A-09, and a redelivery as one of its own", async () => {
    const { control, settle, endpoint, send, sandbox } = await open({
      assumptions: { "A-09": "1s,1s" },
    });
    await endpoint((await receiver(500)).url);
    await send();
    await settle();
    const next = async () =>
      present((await control("GET timeline")).body.data[0]?.events[0]?.deliveries[0]);
    expect((await next()).next).toMatchObject({ n: 2, of: 3 });
    await sandbox.clock.advance(1_000);
    expect((await next()).next).toMatchObject({ n: 3, of: 3 });
    await sandbox.clock.advance(1_000);
    expect(await next()).toMatchObject({ state: "failed", assumptions: ["A-09", "A-10"] });
    expect(await next()).not.toHaveProperty("next");
    const { body } = await control(`POST deliveries/${(await next()).id}/redeliver`);
    expect(body.next).toMatchObject({ n: 4, of: 4 });
  });

  test("has the X-SVC-Attempt of the next attempt, also after extra copies and before a redelivery", async () => {
    const { control, settle, clock, register, send } = await open();
    const { url: target, values } = await receiver(500);
    await register(target);
    await send();
    await settle();
    const delivery = async () =>
      present((await control("GET timeline")).body.data[0]?.events[0]?.deliveries[0]);
    const { id } = await delivery();
    await control(`POST deliveries/${id}/send`, { times: 2 });
    await settle();
    expect((await delivery()).next).toMatchObject({ n: 4, of: 7 });
    const { body } = await control(`POST deliveries/${id}/redeliver`);
    expect(body.next).toMatchObject({ n: 4, of: 8 });
    await settle();
    expect((await delivery()).next).toMatchObject({ n: 5, of: 8 });
    await clock.advance(10 * 60_000);
    expect(values("x-svc-attempt")).toEqual(["1", "2", "3", "4", "5", "6", "7", "8"]);
  });

  test.each([
    ["no_endpoint", async () => {}],
    [
      "type_not_subscribed",
      async ({ call }: Opened) =>
        call("POST /v1/webhook-endpoints", {
          url: "http://localhost:1/",
          event_types: ["domain.updated"],
        }),
    ],
    [
      "archived",
      async ({ endpoint, control }: Opened) =>
        control(`POST endpoints/${(await endpoint("http://localhost:1/")).id}/archive`),
    ],
    [
      "not_emitted",
      async ({ control }: Opened) => control("POST assumptions/A-04", { value: "none" }),
    ],
  ] as const)("states %s as the reason for an event without delivery", async (reason, arrange) => {
    const sandbox = await open();
    await arrange(sandbox);
    await sandbox.send();
    await sandbox.settle();
    const { data } = (await sandbox.control("GET timeline?state=not_sent")).body;
    expect(data[0]?.events).toMatchObject([
      { not_sent: reason, deliveries: [] },
      { not_sent: reason },
    ]);
  });

  test("counts an event whose body could not be created", async () => {
    const fail = () => {
      throw new Error("no body");
    };
    const { endpoint, send, settle, control } = await open({ assumptions: { "A-07": fail } });
    await endpoint("http://localhost:1/");
    await send();
    await settle();
    const { counts } = (await control("GET overview")).body;
    expect(counts.not_sent).toBe(2);
  });

  test("shows a refused call with its code, and a replayed one with its send", async () => {
    const { send, control } = await open();
    await send({ to: [] });
    await send({}, { "idempotency-key": "k" });
    const { body } = await send({}, { "idempotency-key": "k" });
    const [second, first, refused] = (await control("GET timeline")).body.data;
    expect(refused).toMatchObject({ status: 400, code: "invalid_request", events: [] });
    expect(first).toMatchObject({ replayed: false, idempotency_key: "k" });
    expect(second).toMatchObject({ replayed: true, send: { id: body.send_id } });
  });

  test("pages from the newest to the oldest, also while new calls come in", async () => {
    const { send, control } = await open();
    for (let n = 0; n < 7; n += 1) await send({ subject: `Receipt ${n}` });
    const seen: string[] = [];
    let before = "";
    for (let more = true; more;) {
      const { body } = await control(`GET timeline?limit=3${before}`);
      seen.push(...body.data.map((call) => call.send.subject));
      await send({ subject: "newer" });
      before = `&before=${body.next_cursor}`;
      more = body.has_more;
    }
    expect(seen).toEqual([6, 5, 4, 3, 2, 1, 0].map((n) => `Receipt ${n}`));
  });

  test("continues behind a call that was dropped meanwhile", async () => {
    const { send, control, settle, sandbox } = await open({ maxDeliveries: 20 });
    await send({ subject: "kept, because its course is not over" });
    await sandbox.fetch(new Request("http://sandbox.test/_sandbox/reset", { method: "POST" }));
    await control("POST test-email", { scenario: "delayed", subject: "waits" });
    for (let n = 0; n < 3; n += 1) {
      await sandbox.clock.advance(1);
      await send();
    }
    await settle();
    const { body } = await control("GET timeline?limit=1");
    for (let n = 0; n < 120; n += 1) {
      await sandbox.clock.advance(1);
      await send();
    }
    const older = await control(`GET timeline?before=${body.next_cursor}`);
    expect(older.body.data).toMatchObject([{ send: { subject: "waits" } }]);
  });

  const filters = [
    ["state=waiting", 1],
    ["state=succeeded", 1],
    ["state=failed", 0],
    ["state=sending", 0],
    ["state=not_sent", 0],
    ["type=email.sent", 1],
    ["type=domain.updated", 0],
    ["endpoint_id={endpoint}", 1],
    ["endpoint_id=we_unknown", 0],
    ["endpoint_id={endpoint}&state=waiting&type=email.sent", 1],
    ["q=RECEIPT", 1],
    ["q=“quotes”", 1],
    ["q=GRACE@", 1],
    ["q={send}", 1],
    ["q={delivery}", 1],
    ["q=503", 1],
    ["q=busy", 1],
    ["q={short}", 0],
    ["q=/v1/emails", 1],
    ["q=nothing like it", 0],
    ["state=&type=&endpoint_id=&q=", 2],
  ] as const;

  test("filters by state, type, endpoint and text", async () => {
    const { control, endpointId, accepted, failed } = await story();
    const found: [string, number][] = [];
    for (const [filter] of filters) {
      const query = filter
        .replace("{endpoint}", endpointId)
        .replace("{send}", accepted.send_id)
        .replace("{delivery}", failed.id)
        .replace("{short}", failed.id.slice(4, 8));
      found.push([
        filter,
        (await control(`GET timeline?${encodeURI(query).replaceAll("+", "%2B")}`)).body.data.length,
      ]);
    }
    expect(found).toEqual(filters.map((row) => [...row]));
  });

  test.each(["state=lost", "limit=0", "limit=101", "before=x", "before=Y2FsbA"])(
    "refuses %s",
    async (query) => {
      const { control } = await open();
      const { status, body } = await control(`GET timeline?${query}`);
      expect(status).toBe(400);
      expect(body.error.param).toBe(query.split("=")[0]);
    },
  );
});

describe("the items", () => {
  test("show a call with its request and response, the API key masked", async () => {
    const { call, control } = await story();
    const { body, text } = await control(`GET calls/${call?.id}`);
    const headers = new Map(body.request.headers);
    expect(headers.get("authorization")).toBe("Bearer …cdef");
    expect(JSON.parse(body.request.body.text)).toMatchObject({ to: email.to });
    expect(JSON.parse(body.response.body.text)).toMatchObject({ status: "accepted" });
    expect(text).not.toContain("svc_live_0123");
  });

  test("show a send with its history and sizes, and its mail alone", async () => {
    const { accepted, call, url, control } = await story();
    const path = `/_sandbox/sends/${accepted.send_id}`;
    const { body } = await control(`GET sends/${accepted.send_id}`);
    expect(body).toMatchObject({
      call_id: call?.id,
      status: "delivered",
      html: { bytes: 17 },
      text: { bytes: 10, text: "Thank you.", truncated: false },
    });
    const html = await fetch(`${url}${path}/html`);
    expect(await html.text()).toBe("<p>Thank you.</p>");
    expect(html.headers.get("content-type")).toBe("text/html; charset=UTF-8");
    expect(html.headers.get("content-security-policy")).toBe(
      "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    );
    expect(html.headers.get("x-dns-prefetch-control")).toBe("off");
    const text = await fetch(`${url}${path}/text`);
    expect(await text.text()).toBe("Thank you.");
    expect(text.headers.get("content-type")).toMatch(/^text\/plain/);
  });

  test("show the HTML of a mail without the elements that make a browser connect", async () => {
    const { send, url, control } = await open();
    const html = `<p>a<frames></p><IFRAME src=//evil.test>b</Iframe\n><frameset><frame src=//evil.test></frameset><Link rel=preconnect href=//evil.test><META http-equiv=refresh>`;
    const { body } = await send({ html });
    const shown = await fetch(`${url}/_sandbox/sends/${body.send_id}/html`);
    expect(await shown.text()).toBe(
      `<p>a<x-frames></p><x-IFRAME src=//evil.test>b</x-Iframe\n><x-frameset><x-frame src=//evil.test></x-frameset><x-Link rel=preconnect href=//evil.test><x-META http-equiv=refresh>`,
    );
    const whole = await control(`GET sends/${body.send_id}`);
    expect(whole.body.html.bytes).toBe(Buffer.byteLength(html));
  });

  test("show an event by its source id", async () => {
    const { call, control, accepted } = await story();
    const { body } = await control(`GET events/${call?.events[0]?.id}`);
    expect(body).toEqual({ ...call?.events[0], call_id: call?.id, send_id: accepted.send_id });
  });

  test("find a delivery by its id, its current delivery id and its event id", async () => {
    const {
      control,
      failed,
      call: story1,
      got,
    } = await story({ assumptions: { "A-18": "fresh" } });
    const first = (await control(`GET deliveries/${failed.id}`)).body;
    await control(`POST deliveries/${failed.id}/redeliver`);
    const { delivery_id: fresh } = (await control(`GET deliveries/${failed.id}`)).body;
    expect(fresh).not.toBe(failed.id);
    for (const id of [fresh, first.event_id]) {
      expect((await control(`GET deliveries/${id}`)).body).toMatchObject({
        id: failed.id,
        call_id: story1?.id,
      });
    }
    expect(first.body).toMatchObject({
      text: got[0]?.body.toString(),
      sha256: createHash("sha256")
        .update(got[0]?.body ?? "")
        .digest("hex"),
    });
  });

  test("ask for a delivery id if several deliveries share an event id", async () => {
    const { control, endpoint, send, settle } = await open({
      assumptions: { "A-27": "shared" },
    });
    await endpoint("http://localhost:1/");
    await endpoint("http://localhost:2/");
    await send();
    await settle();
    const deliveries = (await control("GET timeline")).body.data[0]?.events[0]?.deliveries;
    const { event_id } = (await control(`GET deliveries/${deliveries?.[0]?.id}`)).body;
    const { status, body } = await control(`GET deliveries/${event_id}`);
    expect([status, body.error.param]).toEqual([400, "id"]);
  });

  test("show an attempt with the bytes on the wire and the signature that they should have", async () => {
    const { control, failed, got, secret } = await story();
    const { body } = await control(`GET deliveries/${failed.id}/attempts/1`);
    const [arrived] = got;
    const expected = hmac(arrived?.body ?? "", secret);
    expect(body).toMatchObject({
      n: 1,
      request: { body: { text: arrived?.body.toString() } },
      response: { status: 503, body: { text: '{"error": {"code": "busy"}}' } },
      signature: {
        header: expected,
        expected,
        secret_hint: `…${secret.slice(-4)}`,
        verdict: "correct",
      },
      assumptions: expect.arrayContaining(["A-07", "A-20", "A-25"]),
    });
    expect(
      body.request.headers.map(([name]) => [name, arrived?.headers[name.toLowerCase()]]),
    ).toEqual(body.request.headers);
  });

  test("cut a body at 16 KiB of whole characters, and show all of it on request", async () => {
    const sandbox = await open();
    const text = `x${"é".repeat(20_000)}`;
    const { body } = await sandbox.call("POST /v1/emails", {
      from: "a@b.test",
      to: ["c@d.test"],
      subject: "long",
      text,
    });
    const cut = (await sandbox.control(`GET sends/${body.send_id}`)).body.text;
    expect(cut).toMatchObject({ bytes: 40_001, shown: 16_383, truncated: true });
    expect(cut.text).toBe(text.slice(0, 8_192));
    const all = (await sandbox.control(`GET sends/${body.send_id}?full=true`)).body.text;
    expect(all).toMatchObject({ text, shown: 40_001, truncated: false, sha256: cut.sha256 });
  });

  test("show bytes that are not UTF-8 as base64", async () => {
    const sandbox = await open();
    sandbox.sandbox.deliverTo(() => new Response(new Uint8Array([0xff, 0xfe])));
    await sandbox.endpoint("http://localhost:1/");
    await sandbox.send();
    await sandbox.settle();
    const deliveries = (await sandbox.control("GET timeline")).body.data[0]?.events[0]?.deliveries;
    const { response } = (await sandbox.control(`GET deliveries/${deliveries?.[0]?.id}/attempts/1`))
      .body;
    expect(response.body).toMatchObject({ bytes: 2, base64: "//4=" });
    expect(response.body).not.toHaveProperty("text");
  });

  test.each([
    "calls/call_x",
    "sends/send_x",
    "sends/send_x/html",
    "events/evt_x",
    "deliveries/dlv_x",
    "deliveries/dlv_x/attempts/1",
    "deliveries/{delivery}/attempts/0",
    "deliveries/{delivery}/attempts/2",
    "deliveries/{delivery}/attempts/x/curl",
  ])("are 404 as %s", async (path) => {
    const { control, failed } = await story();
    const { status, body } = await control(`GET ${path.replace("{delivery}", failed.id)}`);
    expect([status, body.error.code]).toEqual([404, "not_found"]);
  });
});

describe("the lines of the receiver's log", () => {
  test("are kept with the attempt, the last 20 of them, and refused if they are too long", async () => {
    const { control, failed } = await story();
    const route = `POST deliveries/${failed.id}/attempts/1/log` as const;
    const lines = Array.from({ length: 15 }, (_, n) => `line ${n}`);
    for (const _ of [1, 2]) expect((await control(route, { lines })).status).toBe(204);
    const attempt = await control(`GET deliveries/${failed.id}/attempts/1`);
    expect(attempt.body.log).toEqual([...lines.slice(10), ...lines]);
    for (const refused of [{ lines: ["x".repeat(1_001)] }, { lines: Array(21).fill("x") }, {}])
      expect((await control(route, refused)).status).toBe(400);
    const other = `POST deliveries/${failed.id}/attempts/9/log` as const;
    expect((await control(other, { lines })).status).toBe(404);
  });
});

describe("lists", () => {
  test("are newest first, in the form of a page", async () => {
    const { control, call, endpoint } = await open();
    const first = await endpoint("http://localhost:1/");
    const second = await endpoint("http://localhost:2/");
    await call("POST /v1/domains", { domain_name: "one.test" });
    await call("POST /v1/domains", { domain_name: "two.test" });
    await control("POST faults", { target: first.id, kind: "reset" });
    await control("POST faults", { target: second.id, kind: "timeout" });
    const list = async <Name extends "endpoints" | "domains" | "faults">(name: Name) =>
      (await control(`GET ${name}`)).body;
    expect(
      ids(
        (await list("endpoints")).data.map((one) => ({
          id: one.webhook_endpoint_id,
        })),
      ),
    ).toEqual([second.id, first.id]);
    expect(await list("domains")).toMatchObject({
      data: [{ domain_name: "two.test" }, { domain_name: "one.test" }],
      has_more: false,
      next_cursor: null,
    });
    expect((await list("faults")).data).toMatchObject([{ kind: "timeout" }, { kind: "reset" }]);
  });
});

describe("secrets and API keys", () => {
  test("are whole in no response, except the one that creates a secret", async () => {
    const story1 = await story({ assumptions: { "A-19": "pinned" } });
    const { control, endpointId, failed, accepted, sandbox } = story1;
    const rotated = await control(`POST endpoints/${endpointId}/rotate-secret`);
    const made = await control("POST endpoints", {
      url: "http://localhost:1/",
      event_types: ["email.sent"],
    });
    await control("POST assumptions/A-23", {
      value: "keys:svc_live_0123456789abcdef,svc_other_key_9876543210",
    });
    await sandbox.clock.advance(200_000);
    const sent = (await control(`GET timeline`)).body.data.map(
      ({ id }: { id: string }) => `calls/${id}`,
    );
    const delivery = `deliveries/${failed.id}`;
    const routes = [
      "overview",
      "timeline",
      "clock",
      "endpoints",
      "domains",
      "faults",
      "assumptions",
      ...sent,
      `sends/${accepted.send_id}`,
      `sends/${accepted.send_id}/html`,
      `sends/${accepted.send_id}/text`,
      `events/${story1.call?.events[0]?.id}`,
      delivery,
      ...[1, 2].flatMap((n) => [`${delivery}/attempts/${n}`, `${delivery}/attempts/${n}/curl`]),
    ];
    const secrets = [story1.secret, rotated.body.secret, made.body.secret];
    expect(secrets.every((secret) => /^whsec_\w{32}$/.test(secret))).toBe(true);
    const found: string[] = [];
    for (const route of routes) {
      const { status, text } = await control(`GET ${route}`);
      const shown = [...secrets, "svc_live_0123456789abcdef", "svc_other_key_9876543210"].some(
        (secret) => text.includes(secret.slice(6)),
      );
      if (status !== 200 || shown) found.push(route);
    }
    expect(found).toEqual([]);
    const explained = await control(`POST ${delivery}/attempts/1/explain`, { value: "x" });
    for (const secret of secrets) expect(explained.text).not.toContain(secret.slice(6));
  });
});
