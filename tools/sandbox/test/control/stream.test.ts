import { describe, expect, test } from "vitest";
import { until } from "@svc-webhooks/kit/until";
import { createStream } from "../../src/control/stream.js";
import { open, type Opened } from "../support.js";

interface Message {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly retry?: string;
}

/** Reads server-sent events as a browser does, until `stop` is called. */
async function listenTo(url: string, headers: Readonly<Record<string, string>> = {}) {
  const controller = new AbortController();
  const response = await fetch(`${url}/_sandbox/stream`, { headers, signal: controller.signal });
  const messages: Message[] = [];
  let ended = false;
  const read = async () => {
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) messages.push(fields(block));
    }
  };
  void read()
    .catch(() => {})
    .finally(() => (ended = true));
  await until(() => messages.length > 0, "the stream starts");
  return {
    response,
    messages,
    changes: () => messages.filter(({ event }) => event === "change"),
    changed: () =>
      messages
        .filter(({ event }) => event === "change")
        .flatMap(
          ({ data = "{}" }) =>
            JSON.parse(data).changed as { kind: string; id: string; call?: string }[],
        ),
    lastId: () => messages.findLast(({ id }) => id !== undefined)?.id ?? "",
    isEnded: () => ended,
    stop: () => controller.abort(),
  };
}

const fields = (block: string): Readonly<Record<string, string>> =>
  Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));

const sends = async ({ send, settle }: Opened, count: number) => {
  for (let n = 0; n < count; n += 1) await send({ subject: `Receipt ${n}` });
  await settle();
};

describe("the stream", () => {
  test("starts with the reconnection time and the position that overview has", async () => {
    const { url, control } = await open();
    const { body } = await control("GET overview");
    const { response, messages } = await listenTo(url);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(messages[0]).toMatchObject({ retry: "1000", id: `${body.epoch}-${body.seq}` });
  });

  test("names each record that changes, with its call and the counts, and no content", async () => {
    const sandbox = await open();
    const stream = await listenTo(sandbox.url);
    const { body } = await sandbox.send({ subject: "A subject that is nowhere else" });
    await sandbox.settle();
    await until(() => stream.changed().some(({ kind }) => kind === "event"), "the event is named");
    const call = (await sandbox.control("GET timeline")).body.data[0]?.id;
    expect(stream.changed()).toEqual(
      expect.arrayContaining([
        { kind: "call", id: call, call },
        { kind: "send", id: body.send_id, call },
      ]),
    );
    const counts = () => JSON.parse(stream.changes().at(-1)?.data ?? "{}").counts;
    await until(() => counts().not_sent === 2, "the counts include both events");
    expect(counts()).toMatchObject({ calls: 1, deliveries: 0, not_sent: 2 });
    expect(JSON.stringify(stream.messages)).not.toMatch(/nowhere else|whsec_|svc_live/);
  });

  test.each([
    ["the clock", "POST clock", { mode: "real" }, { kind: "clock", id: "clock" }],
    [
      "an assumption",
      "POST assumptions/A-06",
      { value: "reject" },
      { kind: "assumption", id: "A-06" },
    ],
  ])("names %s", async (_what, route, body, expected) => {
    const { url, control } = await open();
    const stream = await listenTo(url);
    await control(route, body);
    await until(() => stream.changes().length > 0, "the change is named");
    expect(stream.changed()).toContainEqual(expected);
  });

  test("resumes after Last-Event-ID with what was missed, and nothing else", async () => {
    const sandbox = await open();
    const first = await listenTo(sandbox.url);
    await sends(sandbox, 1);
    await until(() => first.changed().some(({ kind }) => kind === "event"), "the first is named");
    await until(
      async () => first.lastId().endsWith(`-${(await sandbox.control("GET overview")).body.seq}`),
      "all is named",
    );
    first.stop();
    const { body } = await sandbox.send({ subject: "missed" });
    await sandbox.settle();
    const second = await listenTo(sandbox.url, { "last-event-id": first.lastId() });
    await until(() => second.changes().length > 0, "the missed change is named");
    const known = new Set(
      first
        .changed()
        .map(({ id }) => id)
        // The clock changes with each call of `advance`.
        .filter((id) => id !== "clock"),
    );
    expect(second.changed().filter(({ id }) => known.has(id))).toEqual([]);
    expect(second.changed().map(({ id }) => id)).toContain(body.send_id);
  });

  test("takes the position from ?after= on the first connection", async () => {
    const sandbox = await open();
    const { epoch, seq } = (await sandbox.control("GET overview")).body;
    await sends(sandbox, 1);
    const response = await fetch(`${sandbox.url}/_sandbox/stream?after=${epoch}-${seq}`);
    const reader = response.body?.getReader();
    let text = "";
    while (!text.includes("event: change"))
      text += Buffer.from((await reader?.read())?.value ?? []).toString();
    await reader?.cancel();
    expect(text).toContain('"kind":"call"');
  });

  test.each([["0123456789ab-0"], ["nonsense"], [""], ["ffffffffffff-99999"]])(
    "asks a client that comes from %j to read everything again",
    async (position) => {
      const { url } = await open();
      const stream = await listenTo(url, { "last-event-id": position });
      await until(() => stream.messages.some(({ event }) => event === "resync"), "resync");
      expect(stream.changes()).toEqual([]);
    },
  );

  test("asks every client to read everything again after a reset", async () => {
    const { url, control } = await open();
    const stream = await listenTo(url);
    const { epoch } = (await control("POST reset")).body;
    await until(() => stream.messages.some(({ event }) => event === "resync"), "resync");
    expect(stream.lastId()).toMatch(new RegExp(`^${epoch}-`));
  });

  test("asks a client that has missed more than 2,000 records to read everything again", async () => {
    const sandbox = await open();
    const { epoch, seq } = (await sandbox.control("GET overview")).body;
    // Each send changes four records: the call, the send, and two events.
    await sends(sandbox, 510);
    const stream = await listenTo(sandbox.url, { "last-event-id": `${epoch}-${seq}` });
    await until(() => stream.messages.some(({ event }) => event === "resync"), "resync");
    expect(stream.changes()).toEqual([]);
  });

  test("sends at most ten messages a second, and all changes", async () => {
    const sentAt: number[] = [];
    // The counts are part of each message when it is made. A client may read it at any later time.
    const counts = () => ({ made: sentAt.push(performance.now()) });
    const stream = createStream({ callOf: () => undefined, counts });
    const reader = stream.open(undefined).body?.getReader();
    let text = "";
    const read = async () => {
      for (;;) {
        const { value } = (await reader?.read()) ?? {};
        if (!value) return;
        text += Buffer.from(value).toString();
      }
    };
    const reading = read();
    // The stream keeps the last 2,000 records.
    const ids = Array.from({ length: 1_000 }, (_, index) => `call_${index}.`);
    for (let noted = 0; sentAt.length < 6 || noted < ids.length; noted += 1) {
      stream.note("call", ids[noted % ids.length] ?? "");
      await new Promise((resolve) => setImmediate(resolve));
    }
    stream.note("call", "the last one");
    await until(() => text.includes("the last one"), "the last change is named");
    stream.close();
    await reading.catch(() => {});
    expect(ids.filter((id) => !text.includes(id))).toEqual([]);
    // Node starts a timer at the time at which its turn of the loop began, so one may fire early, but not by half.
    const ms = (sentAt[5] ?? 0) - (sentAt[0] ?? 0);
    expect(ms).toBeGreaterThan((5 * 100) / 2);
  });

  test("ends when the sandbox closes, and does not delay it", async () => {
    const { url, sandbox } = await open();
    const stream = await listenTo(url);
    await sandbox.close();
    await until(() => stream.isEnded(), "the stream ends");
    expect(stream.isEnded()).toBe(true);
  });

  test("ends in process too when the sandbox closes", async () => {
    const { sandbox } = await open();
    const stream = new Request("http://sandbox.test/_sandbox/stream");
    const reader = (await sandbox.fetch(stream)).body?.getReader();
    await reader?.read();
    const rest = reader?.read();
    await sandbox.close();
    expect(await rest).toMatchObject({ done: true });
  });

  test("forgets the record first that has not changed for longest", async () => {
    const stream = createStream({ callOf: () => undefined, counts: () => ({}) });
    stream.note("call", "changes often");
    for (let n = 1; n < 2_000; n += 1) stream.note("call", `call_${n}`);
    const { epoch, seq } = stream.position();
    stream.note("call", "changes often");
    stream.note("call", "one more");
    const reader = stream.open(`${epoch}-${seq}`).body?.getReader();
    await reader?.read();
    const text = Buffer.from((await reader?.read())?.value ?? []).toString();
    expect(text).toMatch(/^event: change\n.*\ndata: .*"changes often".*"one more"/);
    stream.close();
  });
});

describe("many streams", () => {
  test("share one message for each position", async () => {
    let made = 0;
    const counts = () => ({ made: (made += 1) });
    const stream = createStream({ callOf: (_kind, id) => `of ${id} ${made}`, counts });
    const readers = Array.from({ length: 20 }, () => stream.open(undefined).body?.getReader());
    const read = () => Promise.all(readers.map(async (reader) => (await reader?.read())?.value));
    await read();
    stream.note("call", "call_1");
    const [first, ...others] = await read();
    expect(Buffer.from(first ?? []).toString()).toContain('"made":1');
    expect(others).toEqual(Array(19).fill(first));
    // The chunks are one shared object, not equal copies.
    expect(new Set(others).add(first).size).toBe(1);
    stream.close();
  });

  test("are refused beyond 100, until one ends", async () => {
    const { sandbox, url } = await open();
    const opened: AbortController[] = [];
    const openOne = async () => {
      const controller = new AbortController();
      const { signal } = controller;
      const response = await fetch(`${url}/_sandbox/stream`, { signal });
      const reader = response.body?.getReader();
      if (response.ok) {
        await reader?.read();
        opened.push(controller);
      } else await reader?.cancel();
      return response;
    };
    while (opened.length < 100) expect((await openOne()).status).toBe(200);
    const refused = await fetch(`${url}/_sandbox/stream`);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(await refused.json()).toMatchObject({
      error: {
        code: "too_many_streams",
        message:
          "100 change streams are already open, which is the maximum. Close some of the browser tabs that show the sandbox.",
      },
    });
    opened.pop()?.abort();
    await until(async () => (await openOne()).ok, "a place is free");
    await sandbox.close();
  });
});

describe("a client that does not read", () => {
  const unread = (commentMs: number) => {
    const stream = createStream({ callOf: () => undefined, counts: () => ({}), commentMs });
    const reader = stream.open(undefined).body?.getReader();
    return {
      stream,
      read: async () => Buffer.from((await reader?.read())?.value ?? []).toString(),
    };
  };

  test("is cut, and a client that reads gets comments instead", async () => {
    const slow = unread(30);
    const fast = unread(30);
    await Promise.all([slow.read(), fast.read()]);
    for (let n = 0; n < 5; n += 1) {
      expect(await fast.read()).toBe(": \n\n");
      slow.stream.note("call", `call_${n}`);
    }
    // The message that was already enqueued is lost; the client resumes.
    await expect(Promise.all([slow.read(), slow.read()])).rejects.toThrow("has stopped reading");
    fast.stream.close();
    slow.stream.close();
  });

  test("has at most one message waiting for it, which names a record once", async () => {
    const { stream, read } = unread(600_000);
    await read();
    const waiting = read();
    for (let n = 0; n < 10_000; n += 1) stream.note("delivery", "dlv_1");
    const text = await waiting;
    expect(text).toContain(`-10000\n`);
    expect(text.match(/dlv_1/g)).toHaveLength(1);
    stream.close();
  });
});
