import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { adapterContract, type MountAdapter } from "@svc-webhooks/testing/adapter";
import { expect, test } from "vitest";
import { badAdapters } from "./bad-adapters.js";
import { casesOf, failuresOf } from "./contract-cases.js";
import { goodAdapter, mounted, type Adapter } from "./good-adapter.js";
import { sampled } from "./sampled.js";

const casesFor = (mount: MountAdapter) =>
  casesOf((runner) => adapterContract(runner, "an adapter", mount));

/**
 * Returns the titles of the cases that an adapter fails. If `expected` is given, runs only that case and a sample of
 * the others.
 */
async function failures(adapter: Adapter, expected?: string): Promise<readonly string[]> {
  let listener: RequestListener;
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
  const cases = casesFor((receiver, bodyMiddleware) => {
    listener = mounted(adapter, receiver, bodyMiddleware);
    return { url };
  });
  const failed = await failuresOf(expected === undefined ? cases : sampled(cases, expected));
  server.close();
  server.closeAllConnections();
  return failed;
}

test("an adapter without a mistake passes every case", async () => {
  expect(await failures(goodAdapter)).toEqual([]);
});

test("there is one bad adapter for each case, in the contract's order", () => {
  const titles = casesFor(() => ({ url: "" })).map(({ title }) => title);
  expect(Object.keys(badAdapters)).toEqual(titles);
});

test.concurrent.each(Object.entries(badAdapters))(
  "a bad adapter fails only its case: %s",
  async (title, adapter) => {
    expect(await failures(adapter, title)).toEqual([title]);
  },
);
