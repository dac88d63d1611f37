import { remaining } from "@svc-webhooks/kit/garbage";
import { sized } from "@svc-webhooks/kit/sized";
import { describe, expect, test } from "vitest";
import { InvalidResponseError, type Page, type WebhookEvent } from "../src/index.js";
import { against, collected, errorOf, open } from "./support.js";

const json = { "content-type": "application/json" };

/** A server whose pages depend on the cursor. */
const serving = (page: (after: string | null) => unknown) => {
  const cursors: (string | null)[] = [];
  const server = against(({ url = "" }, response) => {
    const after = new URL(url, "http://a.test").searchParams.get("after");
    cursors.push(after);
    response.writeHead(200, json).end(JSON.stringify(page(after)));
  });
  return server.then((made) => ({ ...made, cursors }));
};

describe("a list", () => {
  test("requests a page when the one before is used up, and none after a break", async () => {
    const { client, notes, endpoint } = await open();
    await endpoint(() => 200);
    const { domain_id: id } = await client.domains.create({ domain_name: "mail.example.test" });
    for (let count = 0; count < 5; count += 1) await client.domains.verify(id);
    const before = notes.length;
    const list = client.webhookEvents.list({ limit: 2 });
    const requests: number[] = [];
    for await (const { type } of list) {
      expect(type).toBe("domain.updated");
      requests.push(notes.length - before);
      if (requests.length === 4) break;
    }
    expect(requests).toEqual([1, 1, 2, 2]);
    expect(notes).toHaveLength(before + 2);
    // Each iteration starts from the first page.
    expect(await collected(list)).toHaveLength(5);
    expect(notes.at(-1)?.path).toMatch(/^\/v1\/webhook-events\?limit=2&after=\w+$/);
  });

  test.for<[string, (after: string | null) => unknown, readonly (string | null)[], number[]]>([
    ["one page", () => ({ data: [1], next_cursor: "a" }), [null, "a"], [1]],
    [
      "two pages",
      (after) => ({ data: [after === "a" ? 2 : 1], next_cursor: after === "a" ? "b" : "a" }),
      [null, "a", "b"],
      [1, 2],
    ],
  ])("that repeats %s ends with an error, before an item is repeated", async (one) => {
    const [, page, expected, items] = one;
    const { client, cursors } = await serving(page);
    const seen: unknown[] = [];
    const reading = async () => {
      for await (const item of client.webhookEvents.list()) seen.push(item);
    };
    const error = await errorOf(reading());
    expect(seen).toEqual(items);
    expect(error).toBeInstanceOf(InvalidResponseError);
    expect(error.message).toMatch(/^The list repeats a cursor\.$/);
    expect(cursors).toEqual(expected);
  });

  test("starts after a cursor, which may be that of an earlier run", async () => {
    const { client, endpoint } = await open();
    await endpoint(() => 200);
    const { domain_id: id } = await client.domains.create({ domain_name: "mail.example.test" });
    for (let count = 0; count < 5; count += 1) await client.domains.verify(id);
    const all = await collected(client.webhookEvents.list());
    const pages = client.webhookEvents.list({ limit: 2 }).pages()[Symbol.asyncIterator]();
    const first: unknown = (await pages.next()).value;
    const { next_cursor: after } = first as Page<WebhookEvent>;
    expect(await collected(client.webhookEvents.list({ limit: 2, after }))).toEqual(all.slice(2));
  });

  test("may have numbers as its cursors", async () => {
    const { client, cursors } = await serving((after) => ({
      data: [Number(after)],
      next_cursor: Number(after) < 2 ? Number(after) + 1 : null,
    }));
    const pages = await collected(client.webhookEvents.list().pages());
    expect(pages.map(({ data, next_cursor }) => [...data, next_cursor])).toEqual([
      [0, "1"],
      [1, "2"],
      [2, undefined],
    ]);
    expect(cursors).toEqual([null, "1", "2"]);
  });

  test.for<[string, unknown]>([
    ["no cursor", { data: [1] }],
    ["an empty cursor", { data: [1], has_more: true, next_cursor: "" }],
    ["null", { data: [1], has_more: true, next_cursor: null }],
    ["a cursor after the last page", { data: [1], has_more: false, next_cursor: "a" }],
    ["an array", [1]],
  ])("ends at %s", async ([, page]) => {
    const { client, cursors } = await serving(() => page);
    const pages = await collected(client.webhookEvents.list().pages());
    expect(pages).toEqual([{ data: [1], has_more: false, next_cursor: undefined }]);
    expect(cursors).toEqual([null]);
  });

  test.for([{}, { data: {} }, { data: null }])("refuses %j", async (page) => {
    const { client } = await serving(() => page);
    expect((await errorOf(collected(client.webhookEvents.list()))).message).toBe(
      "The response has no valid `data`.",
    );
  });

  test("refuses an item that is null", async () => {
    const { client } = await serving(() => ({ data: [{ event_id: "evt_1" }, null] }));
    expect((await errorOf(collected(client.webhookEvents.list()))).message).toBe(
      "The response has no valid `data`.",
    );
  });

  test("passes on types, statuses and fields that it does not know", async () => {
    const event = { event_id: "evt_1", type: "email.opened", status: "paused", extra: { a: 1 } };
    const { client } = await serving(() => ({ data: [event] }));
    expect(await collected(client.webhookEvents.list())).toEqual([event]);
  });
});

/** The number of failed deliveries, a whole number of thousands. */
const failed = sized(2_000, 10_000);

test(`${failed} failed deliveries are redelivered without keeping the pages that are done`, async () => {
  const { client, notes } = await against((request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://a.test");
    const first = Number(searchParams.get("after"));
    const page = Array.from({ length: 100 }, (_event, index) => ({
      event_id: `evt_${first + index}`,
      status: "failed",
    }));
    const next_cursor = first < failed - 100 ? String(first + 100) : null;
    const body = request.method === "GET" ? { data: page, next_cursor } : page[0];
    request.resume();
    response.writeHead(200, json).end(JSON.stringify(body));
  });
  const seen: WeakRef<WebhookEvent>[] = [];
  const kept: number[] = [];
  const result = await client.webhookEvents.redeliverFailed({
    webhook_endpoint_id: "we_1",
    async onProgress({ event }) {
      seen.push(new WeakRef(event));
      // Half of the tenth page is done. A frame of the engine may still refer to the ninth page.
      if (seen.length % 1_000 === 950) kept.push(await remaining(seen.slice(0, -150)));
    },
  });
  expect(result).toEqual({ redelivered: failed, skipped: 0, failed: 0 });
  expect(kept).toEqual(Array.from({ length: failed / 1_000 }, () => 0));
  // No page is requested before the previous one is done.
  const lists = notes.flatMap(({ method }, index) => (method === "GET" ? [index] : []));
  expect(lists).toEqual(Array.from({ length: failed / 100 }, (_page, index) => index * 101));
});
