import { describeWithBrowser, openPage } from "@svc-webhooks/kit/browser";
import { medianRatio } from "@svc-webhooks/kit/median-ratio";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { openService, visit } from "./service.js";

type Service = Awaited<ReturnType<typeof openService>>;

const target = "http://localhost:3000/webhooks";

/** Sends emails to the sandbox without HTTP, and delivers them. */
async function store({ sandbox }: Service, emails: number): Promise<void> {
  for (let n = 0; n < emails; n += 1) {
    const body = JSON.stringify({
      from: "ada@mail.example.test",
      to: ["grace@example.test"],
      subject: `Stored ${n}.`,
      text: "Hello.",
    });
    const headers = {
      authorization: "Bearer svc_test",
      "content-type": "application/json",
      "idempotency-key": `stored-${n}`,
    };
    const request = new Request("http://sandbox.test/v1/emails", { method: "POST", headers, body });
    const { status } = await sandbox.fetch(request);
    if (status !== 202) throw new Error(`Email ${n} got the response status ${status}.`);
    if (n % 200 === 199) await sandbox.clock.advance(0);
  }
  await sandbox.clock.advance(0);
}

/** Opens a page on a sandbox with this many stored deliveries, one for each call. */
async function openStored(deliveries: number) {
  const service = await openService({ maxDeliveries: 30_000 });
  service.sandbox.deliverTo(() => new Response("ok"));
  await service.register(target, "email.sent");
  await store(service, deliveries);
  const page = await openPage(service.url);
  const stored = deliveries.toLocaleString("en");
  expect((await service.call("GET overview")).counts.deliveries).toBe(deliveries);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const metric = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return (name: string) => metrics.find((one) => one.name === name)?.value ?? NaN;
  };
  return { ...service, page, stored, session, metric };
}

type Stored = Awaited<ReturnType<typeof openStored>>;

/**
 * Returns work that measures its own cost: the processor time of the page's thread and of this process, which serves the
 * page. Time in which a busy machine runs other processes does not count.
 */
const costing =
  ({ metric }: Stored, work: () => Promise<unknown>) =>
  async () => {
    const [own, valueOf] = [process.cpuUsage(), await metric()];
    await work();
    const { user, system } = process.cpuUsage(own);
    const threadMs = 1_000 * ((await metric())("ThreadTime") - valueOf("ThreadTime"));
    return threadMs + (user + system) / 1_000;
  };

/** Resolves in the frame after one in which `selector` matches an element that contains `text`. */
const painted = (page: Page, selector: string, text: string) =>
  page.evaluate(
    ([wanted, words]) =>
      new Promise<void>((resolve) => {
        const look = () => {
          const found = [...document.querySelectorAll(wanted)];
          if (found.some(({ textContent }) => textContent.includes(words)))
            requestAnimationFrame(() => resolve());
          else requestAnimationFrame(look);
        };
        look();
      }),
    [selector, text] as const,
  );

const load = (stored: Stored) => {
  const { page } = stored;
  return costing(stored, async () => {
    await page.goto("/");
    await painted(page, "#calls .chip", "200");
  });
};

const search = (stored: Stored) => {
  const { page } = stored;
  let n = 0;
  return costing(stored, async () => {
    n += 1;
    await page.locator("[name=q]").fill(`Stored ${n}.`);
    await page.waitForFunction(
      () => document.querySelector("#calls")?.childElementCount === 1,
      undefined,
      { polling: "raf" },
    );
    await painted(page, "#calls .name", `Stored ${n}.`);
  });
};

const change = (stored: Stored) => {
  const { page, send } = stored;
  let n = 0;
  return costing(stored, async () => {
    n += 1;
    const subject = `Live ${n}.`;
    await Promise.all([send({ subject }), painted(page, "#calls .name", subject)]);
  });
};

describeWithBrowser("the page over 10,000 deliveries", () => {
  test("loads, finds and follows as fast as over 100, and is no larger", async () => {
    const [many, few] = [await openStored(10_000), await openStored(100)];
    // The first load also starts the page's process.
    for (const { page } of [many, few]) await visit(page);
    const ratios = { load: await medianRatio(load(many), load(few)), search: 0, change: 0 };
    for (const { page } of [many, few]) await visit(page);
    expect(await many.page.locator("#states a").first().innerText()).toContain(many.stored);
    ratios.change = await medianRatio(change(many), change(few));
    ratios.search = await medianRatio(search(many), search(few));
    await visit(many.page);
    const elements = () => many.page.evaluate(() => document.querySelectorAll("*").length);
    for (const count of [200, 300]) {
      await many.page.evaluate(() => document.querySelector("#older")?.scrollIntoView());
      await expect.poll(() => many.page.locator("#calls > li").count()).toBe(count);
    }
    expect(await elements()).toBeLessThanOrEqual(15_000);
    // What grows with the deliveries would cost a hundred times as much.
    for (const ratio of Object.values(ratios)) expect(ratio).toBeLessThanOrEqual(5);
  });

  test("leaves its user half of the time during a burst of 2,000 deliveries", async () => {
    const opened = await openStored(1_000);
    const { page, call, session, metric } = opened;
    for (let n = 0; n < 3; n += 1)
      await call("POST /v1/webhook-endpoints", {
        url: `${target}/${n}`,
        event_types: ["email.sent"],
      });
    const shown = page.locator("[data-count=succeeded]");
    await visit(page);
    await opened.send();
    await expect.poll(() => shown.textContent()).toBe("1,004");
    const measure = async () => {
      await session.send("HeapProfiler.collectGarbage");
      const valueOf = await metric();
      return {
        at: valueOf("Timestamp"),
        // Unlike the duration of its tasks, this has no time in which the machine ran other processes.
        busy: valueOf("ThreadTime"),
        heap: valueOf("JSHeapUsedSize"),
      };
    };
    const before = await measure();
    for (let n = 0; n < 499; n += 1) {
      await opened.send({ subject: `Burst ${n}` });
    }
    await opened.send({ subject: "The last one" });
    await expect.poll(() => shown.textContent()).toBe("3,004");
    await painted(page, "#calls .name", "The last one");
    const after = await measure();
    const share = (after.busy - before.busy) / (after.at - before.at);
    expect(share).toBeLessThanOrEqual(0.5);
    expect(after.heap).toBeLessThanOrEqual(1.5 * before.heap);
    expect(await page.locator("#calls > li").count()).toBeLessThanOrEqual(300);
  });
});
