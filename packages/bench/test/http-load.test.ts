import { verify } from "@svc-webhooks/core";
import { describe, expect, test } from "vitest";
import { listen } from "../../../test/support/servers.js";
import { secret } from "../src/deliveries.js";
import { autocannon } from "../src/http/autocannon.js";
import { connections, rateOf } from "../src/http/load.js";
import { signedRequest } from "../src/http/request.js";
import { hasWrk, wrk } from "../src/http/wrk.js";

const request = await signedRequest(1_024);

const tools = [
  [autocannon.name, autocannon, true],
  [hasWrk() ? wrk.name : "wrk, which is not installed here", wrk, hasWrk()],
] as const;

describe.each(tools)("%s", (_title, { load }, isHere) => {
  // The benchmark itself does without wrk.
  test.skipIf(!isHere)("sends genuine deliveries, and no id twice", async () => {
    const ids: unknown[] = [];
    const verified = new Set<boolean>();
    const port = await listen(async (incoming, response) => {
      const body = Buffer.concat(await incoming.toArray());
      const signature = String(incoming.headers["x-svc-signature"]);
      verified.add((await verify(body, signature, secret)).ok);
      ids.push(incoming.headers["x-svc-delivery-id"]);
      response.end();
    });
    const loads = [await load(port, request, 300), await load(port, request, 300)];
    expect(new Set(ids).size).toBe(ids.length);
    expect([...verified]).toEqual([true]);
    expect(loads).toMatchObject([
      { refused: 0, broken: 0 },
      { refused: 0, broken: 0 },
    ]);
    const answered = loads.reduce((sum, each) => sum + each.answered, 0);
    // What is under way at the end of a turn does not count.
    expect(answered).toBeGreaterThan(ids.length - 2 * connections - 1);
    expect(answered).toBeLessThanOrEqual(ids.length);
  });

  test.skipIf(!isHere)("counts answers that are not 2xx", async () => {
    const statuses = [200, 500, 401, 200];
    let answers = 0;
    const port = await listen((_incoming, response) => {
      response.writeHead(statuses[answers++ % 4] ?? 0).end();
    });
    const { answered, refused, broken } = await load(port, request, 300);
    expect(broken).toBe(0);
    expect(Math.abs(refused - answered / 2)).toBeLessThan(connections);
  });

  test.skipIf(!isHere)("counts connections that break", async () => {
    let answers = 0;
    const port = await listen((_incoming, response) => {
      if (answers++ % 100 === 99) response.destroy();
      else response.end();
    });
    const { refused, broken } = await load(port, request, 300);
    expect(refused).toBe(0);
    expect(Math.abs(broken - Math.floor(answers / 100))).toBeLessThan(connections);
    expect(broken).toBeGreaterThan(0);
  });

  test.skipIf(!isHere)("makes no secret of it if nobody listens", async () => {
    // wrk does not even begin.
    const refuse = async () => {
      const { broken } = await load(1, request, 300);
      if (broken > 0) throw new Error(`${broken} broke`);
    };
    await expect(refuse()).rejects.toThrow(/./);
  });
});

test("a rate is what was answered in a second", () => {
  expect(rateOf("anyone", { answered: 30, refused: 0, broken: 0, seconds: 1.5 })).toBe(20);
});

test("there is no rate where a single request went wrong, and the contender is named", () => {
  const loaded = { answered: 30, refused: 0, broken: 0, seconds: 1.5 };
  expect(() => rateOf("the one", { ...loaded, refused: 1 })).toThrow(
    "the one: 1 requests were refused, 0 connections broke",
  );
  expect(() => rateOf("the one", { ...loaded, broken: 2 })).toThrow(
    "the one: 0 requests were refused, 2 connections broke",
  );
});
