import { createHmac } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createSandbox, type Sandbox, type SandboxOptions } from "@svc-webhooks/sandbox";
import { heapUsed } from "../growth/heap.js";

export interface Load {
  readonly attemptsPerSecond: number;
  readonly longestBlockMs: number;
  /** The growth of the heap since before the sandbox was created, measured after each repetition, in bytes. */
  readonly heaps: readonly number[];
}

const endpoints = 100;

/** The number of deliveries per email: each email raises two events for every endpoint. */
const perSend = 2 * endpoints;

/** The due times of the attempts with the retry schedule `fast` (assumption A-09), in milliseconds after the event. */
const dueAt = [0, 1, 6, 21, 81].map((seconds) => seconds * 1_000);

/** Returns whether the receiver at a path fails. Every second receiver responds to each attempt with 500. */
const isFailing = (path: string) => Number(path.slice(1)) % 2 === 1;

/**
 * Measures a sandbox that delivers the events of emails to 100 endpoints. Half of the endpoints fail every attempt.
 * Each of the `repeat` repetitions (default 1) makes `deliveries` deliveries.
 *
 * @throws Error (as a rejection) if an attempt is missing or does not start exactly at its due time
 */
export async function load({
  deliveries,
  data,
  repeat = 1,
}: {
  readonly deliveries: number;
  readonly data?: string | undefined;
  readonly repeat?: number;
}): Promise<Load> {
  const heapBefore = heapUsed();
  const sandbox = quietSandbox({ data, maxDeliveries: deliveries });
  for (let n = 0; n < endpoints; n++) await register(sandbox, `http://127.0.0.1:9/${n}`);
  let attempts = 0;
  let eventsAt = 0;
  let late = 0;
  sandbox.deliverTo((request) => {
    attempts += 1;
    const due = eventsAt + (dueAt[Number(request.headers.get("x-svc-attempt")) - 1] ?? NaN);
    if (sandbox.clock.now() !== due) late += 1;
    return respond(request);
  });
  const delays = monitorEventLoopDelay({ resolution: 1 });
  const heaps: number[] = [];
  let ms = 0;
  for (let turn = 1; turn <= repeat; turn++) {
    eventsAt = sandbox.clock.now();
    delays.enable();
    const startedAt = performance.now();
    for (let n = 0; n < deliveries / perSend; n++) await send(sandbox, `${turn}-${n}`);
    await sandbox.clock.advance(dueAt.at(-1) ?? 0);
    ms += performance.now() - startedAt;
    delays.disable();
    const expected = turn * (deliveries / 2) * (1 + dueAt.length);
    if (attempts !== expected || late > 0)
      throw new Error(
        `${attempts} attempts instead of ${expected}; ${late} not at their due time.`,
      );
    heaps.push(heapUsed() - heapBefore);
    await sandbox.clock.advance(1_000);
  }
  await sandbox.close();
  return {
    attemptsPerSecond: (attempts / ms) * 1_000,
    longestBlockMs: delays.max / 1e6,
    heaps,
  };
}

/** Measures how many real milliseconds the realistic schedule takes on the manual clock. */
export async function realistic(): Promise<number> {
  const sandbox = quietSandbox({ assumptions: { "A-06": "allow", "A-09": "realistic" } });
  await register(sandbox, "http://127.0.0.1:9/1");
  let attempts = 0;
  sandbox.deliverTo(() => {
    attempts += 1;
    return new Response(null, { status: 500 });
  });
  await send(sandbox, "1");
  const startedAt = performance.now();
  await sandbox.clock.advance(((27 * 60 + 35) * 60 + 5) * 1_000);
  const ms = performance.now() - startedAt;
  if (attempts !== 16) throw new Error(`${attempts} attempts instead of 16.`);
  await sandbox.close();
  return ms;
}

const respond = ({ url }: Request) =>
  Promise.resolve(new Response(null, { status: isFailing(new URL(url).pathname) ? 500 : 200 }));

/**
 * Signs a body and passes it to a receiver as often as one repetition of `load` does, one delivery at a time and
 * without a sandbox. Resolves to the attempts per second.
 */
export async function plainLoop(deliveries: number): Promise<number> {
  const body = Buffer.from(JSON.stringify({ text: "x".repeat(400) }));
  const attempts = (deliveries / 2) * (1 + dueAt.length);
  const startedAt = performance.now();
  for (let n = 0; n < attempts; n++) {
    const hex = createHmac("sha256", "whsec_0123456789abcdef").update(body).digest("hex");
    const request = new Request(`http://127.0.0.1:9/${n % endpoints}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-svc-signature": `sha256=${hex}` },
      body,
    });
    await (await respond(request)).arrayBuffer();
  }
  return (attempts / (performance.now() - startedAt)) * 1_000;
}

const quietSandbox = (options: SandboxOptions) =>
  createSandbox({
    clock: "manual",
    assumptions: { "A-06": "allow" },
    log: () => {},
    ...options,
  });

const register = (sandbox: Sandbox, url: string) =>
  post(sandbox, "/v1/webhook-endpoints", 201, {
    url,
    event_types: ["email.sent", "email.delivered"],
  });

const send = (sandbox: Sandbox, key: string) => {
  const email = { from: "shop@a.test", to: ["ada@b.test"], subject: key, text: "Thank you." };
  return post(sandbox, "/v1/emails", 202, email, key);
};

async function post(
  { fetch }: Sandbox,
  path: string,
  expected: number,
  body: object,
  key = "",
): Promise<void> {
  const headers = {
    authorization: "Bearer svc_bench",
    "content-type": "application/json",
    ...(key && { "idempotency-key": key }),
  };
  const request = { method: "POST", headers, body: JSON.stringify(body) };
  const { status } = await fetch(new Request(`http://sandbox.test${path}`, request));
  if (status !== expected) throw new Error(`${path} responded ${status}.`);
}
