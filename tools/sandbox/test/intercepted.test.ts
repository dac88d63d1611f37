import { createRequire } from "node:module";
import { ClientRequestInterceptor } from "@mswjs/interceptors/ClientRequest";
import { freePort } from "@svc-webhooks/kit/free-port";
import type * as esm from "@svc-webhooks/sandbox";
import { expect, onTestFinished, test } from "vitest";
import { posted, receiver } from "./support.js";

const { createSandbox } = createRequire(import.meta.url)("@svc-webhooks/sandbox") as typeof esm;

/** Intercepts the requests of this process as MSW and Nock do, without a handler for any of them. */
function intercepting() {
  const interceptor = new ClientRequestInterceptor();
  interceptor.apply();
  onTestFinished(() => interceptor.dispose());
  return interceptor;
}

/** Sends an email to an endpoint with this URL, and returns the results of its delivery. */
async function resultsOf(url: string) {
  const sandbox = createSandbox({
    clock: "manual",
    assumptions: { "A-06": "allow", "A-09": "none" },
  });
  onTestFinished(() => sandbox.close());
  const call = (path: string, init?: RequestInit) =>
    sandbox.fetch(new Request(`http://sandbox.test${path}`, init));
  await call("/v1/webhook-endpoints", posted({ url, event_types: ["email.sent"] }));
  const email = { from: "ada@mail.test", to: ["bob@example.test"], subject: "s", text: "t" };
  await call("/v1/emails", posted(email));
  await sandbox.clock.advance(0);
  const headers = { authorization: "Bearer svc_test" };
  const response = await call("/_sandbox/deliveries", { headers });
  const { data } = (await response.json()) as { data: { results: unknown }[] };
  return data.map(({ results }) => results);
}

test("a receiver gets a delivery whose socket connects only after the request was written", async () => {
  intercepting();
  const { url, got } = await receiver();
  expect(await resultsOf(url)).toEqual([[expect.objectContaining({ ok: true, status: 200 })]]);
  expect(got).toHaveLength(1);
});

test("a connection that is refused is reported", async () => {
  intercepting();
  const url = `http://127.0.0.1:${await freePort()}/`;
  expect(await resultsOf(url)).toEqual([
    [expect.objectContaining({ ok: false, error: "refused" })],
  ]);
});

test.each(["http", "https"])("a handler for %s responds to a delivery", async (scheme) => {
  intercepting().on("request", ({ controller }) =>
    controller.respondWith(new Response(null, { status: 204 })),
  );
  const url = `${scheme}://127.0.0.1:${await freePort()}/`;
  expect(await resultsOf(url)).toEqual([[expect.objectContaining({ ok: true, status: 204 })]]);
});
