import { expect, test } from "vitest";
import type { Clock } from "../src/clock.js";
import { callTool } from "../src/call.js";
import { resolveHosts } from "../src/setup/hosts.js";
import { readSecrets } from "../src/setup/secrets.js";
import { serviceAt } from "../src/setup/service.js";
import { waitFor } from "../src/tools/wait-for.js";
import { listen } from "@svc-webhooks/kit/servers";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { until } from "@svc-webhooks/kit/until";
import { connect, endpointOf, post } from "./support.js";

/** A clock on which a test ends each pause. */
function steppedClock() {
  let now = 1_000_000;
  const pauses: { readonly ms: number; readonly end: () => void }[] = [];
  const limits: { readonly at: number; readonly limit: AbortController }[] = [];
  const pass = (ms: number) => {
    now += ms;
    for (const { at, limit } of limits) if (at <= now) limit.abort();
  };
  const clock: Clock = {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const end = () => {
          pass(ms);
          resolve();
        };
        pauses.push({ ms, end });
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      }),
    timeout: (ms) => {
      const limit = new AbortController();
      limits.push({ at: now + ms, limit });
      return limit.signal;
    },
  };
  return { clock, pauses, pass };
}

async function world(clock: Clock) {
  const { url } = await openSandbox({ clock: "real" });
  const service = serviceAt({ isOwn: true, baseUrl: url, apiKeyEnv: undefined, env: {} });
  const secrets = readSecrets([], {});
  const hosts = await resolveHosts([], []);
  return { url, world: { clock, service, secrets, hosts, write: false } };
}

const unmasked = (text: string) => text;

test("wait_for looks at least once, and gives up when its time has passed", async () => {
  const { clock, pauses } = steppedClock();
  const { world: given } = await world(clock);
  const { signal } = new AbortController();
  const input = waitFor.input.parse({ timeout_seconds: 2 });
  const called = callTool(waitFor, given, unmasked, input, signal);
  for (const count of [1, 2, 3, 4]) {
    await until(() => pauses.length === count, "the next pause has begun");
    pauses.at(-1)?.end();
  }
  const { structuredContent } = await called;
  expect(structuredContent).toMatchObject({ code: "no_delivery", facts: { waited_ms: 2_000 } });
  expect(pauses.map(({ ms }) => ms)).toEqual([500, 500, 500, 500]);
});

test("wait_for returns as soon as the delivery has ended", async () => {
  const { clock, pauses } = steppedClock();
  const { world: given, url } = await world(clock);
  await endpointOf(url);
  const { signal } = new AbortController();
  const input = waitFor.input.parse({ timeout_seconds: 50 });
  const called = callTool(waitFor, given, unmasked, input, signal);
  await until(() => pauses.length === 1, "the first pause has begun");
  await post(`${url}/_sandbox/test-email`, {});
  let result: Awaited<typeof called> | undefined;
  void called.then((one) => (result = one));
  await until(() => {
    if (result === undefined) pauses.at(-1)?.end();
    return result !== undefined;
  }, "the call has ended");
  expect(result?.structuredContent).toMatchObject({ ok: true, code: "processed" });
});

/** Serves a service that never responds to its first `silent` requests, and has no deliveries. */
async function silentService(silent: number) {
  const seen = { requests: 0, aborted: 0 };
  const port = await listen((request, response) => {
    seen.requests += 1;
    request.resume();
    response.on("close", () => {
      if (!response.writableFinished) seen.aborted += 1;
    });
    if (seen.requests <= silent) return;
    response.writeHead(200, { "content-type": "application/json" }).end('{"data":[]}');
  });
  return { seen, baseUrl: `http://127.0.0.1:${port}` };
}

test("wait_for gives up when its time has passed although the service has not responded", async () => {
  const { clock, pass } = steppedClock();
  const { seen, baseUrl } = await silentService(1);
  const service = serviceAt({ isOwn: true, baseUrl, apiKeyEnv: undefined, env: {} });
  const { world: given } = await world(clock);
  const { signal } = new AbortController();
  const input = waitFor.input.parse({ timeout_seconds: 1 });
  const called = callTool(waitFor, { ...given, service }, unmasked, input, signal);
  await until(() => seen.requests === 1, "the request has arrived");
  pass(1_000);
  await until(() => seen.aborted === 1, "the request was aborted");
  const { isError, structuredContent } = await called;
  expect(isError).not.toBe(true);
  expect(structuredContent).toMatchObject({
    ok: false,
    code: "wait_timeout",
    happened: "The service did not respond in time.",
    facts: { waited_ms: 1_000 },
  });
});

test("wait_for ends when it is canceled during a pause", async () => {
  const { clock, pauses } = steppedClock();
  const { world: given } = await world(clock);
  const controller = new AbortController();
  const input = waitFor.input.parse({ timeout_seconds: 50 });
  const called = callTool(waitFor, given, unmasked, input, controller.signal);
  await until(() => pauses.length === 1, "the first pause has begun");
  controller.abort();
  const { isError, structuredContent } = await called;
  expect([isError, structuredContent]).toMatchObject([true, { code: "canceled" }]);
});

test("no call can wait longer than 50 seconds", () => {
  expect(waitFor.input.safeParse({ timeout_seconds: 50 }).success).toBe(true);
  for (const timeout_seconds of [51, 1e9, Infinity, 0, -1, 0.5])
    expect(waitFor.input.safeParse({ timeout_seconds }).success).toBe(false);
});

test("the client can cancel a call, and the server serves the next one", async () => {
  const { seen, baseUrl } = await silentService(1);
  const { client, call } = await connect(["--base-url", baseUrl]);
  const controller = new AbortController();
  const waiting = client.callTool(
    { name: "wait_for", arguments: { timeout_seconds: 50 } },
    { signal: controller.signal },
  );
  const ended = waiting.catch((error: unknown) => error);
  await until(() => seen.requests === 1, "the request has arrived");
  expect(await call("timeline")).toMatchObject({ ok: true });
  controller.abort();
  expect(await ended).toBeInstanceOf(Error);
  // The server reads the cancellation before these calls, and has ended its request long before they have returned.
  for (const _ of [1, 2, 3]) expect(await call("timeline")).toMatchObject({ ok: true });
  // One request for the call that was canceled, and one for each timeline.
  expect(seen).toEqual({ requests: 5, aborted: 1 });
});
