import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { bullmqInbox } from "@svc-webhooks/bullmq";
import { createReceiver } from "@svc-webhooks/core";
import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { describeWithRedis, redisServer, type RedisServer } from "@svc-webhooks/kit/redis-server";
import { until } from "@svc-webhooks/kit/until";
import { Queue, Worker } from "bullmq";
import express, { type RequestHandler } from "express";
import { Hono, type MiddlewareHandler } from "hono";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { codeBlocks, type CodeBlock } from "../package/readme.js";
import { errorsOf, importBlock } from "./blocks.js";
import { installedWith } from "./install.js";
import { isOperator, served, type Page } from "./page.js";

const readme = "packages/bullmq/README.md";
const isOfPage = ({ code }: { readonly code: string }) => code.includes('"@bull-board/api"');

const packages = [
  "@bull-board/api@9.10.1",
  "@bull-board/express@9.10.1",
  "@bull-board/hono@9.10.1",
  "bullmq@6.7.0",
  "express@5.3.0",
  "hono@4.13.19",
  "@hono/node-server@2.1.8",
  "@types/express@5.0.6",
  "@types/node@20.19.25",
];

let folder: string;

type Change = (block: CodeBlock) => CodeBlock;

interface Block<Check, Mounted> {
  readonly queuePage: (queue: Queue, check: Check) => Mounted;
}

/** The page as the README mounts it, by framework. */
const listeners: Readonly<
  Record<string, (queue: Queue, change?: Change) => Promise<RequestListener>>
> = {
  async Express(queue, change) {
    const { queuePage } = await importBlock<Block<RequestHandler, RequestHandler>>(
      folder,
      readme,
      "@bull-board/express",
      change,
    );
    return express().use(
      queuePage(queue, (req, res, next) => {
        if (isOperator(req.headers.authorization)) next();
        else res.sendStatus(403);
      }),
    );
  },
  async Hono(queue, change) {
    const { queuePage } = await importBlock<Block<MiddlewareHandler, Hono>>(
      folder,
      readme,
      "@bull-board/hono",
      change,
    );
    const page = queuePage(queue, async (c, next) =>
      isOperator(c.req.header("authorization")) ? next() : c.text("Forbidden", 403),
    );
    return getRequestListener(new Hono().route("/", page).fetch);
  },
};

/** Requests that the page sends to retry, add and edit a job. */
const changes = (name: string, id: string) =>
  [
    { path: `${name}/${id}/retry`, method: "PUT" },
    { path: `${name}/add`, method: "POST" },
    { path: `${name}/${id}/update-data`, method: "PATCH" },
  ].map(({ path, method }) => ({
    path: `/admin/queues/api/queues/${path}`,
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "email.sent", data: {}, jobData: {}, options: {} }),
  }));

describeWithRedis("the page of BullMQ", () => {
  let server: RedisServer;
  beforeAll(async () => {
    folder = await installedWith(packages);
    server = await redisServer();
  });
  afterAll(() => server?.close());

  /** Opens the page of a queue with a dead letter, whose handler has used all its attempts. */
  const withDeadLetter = async (
    framework: string,
    change?: Change,
  ): Promise<{
    page: Page;
    name: string;
    id: string;
    runs: () => number;
    dead: () => Promise<number>;
  }> => {
    const name = `mail-${framework}-${Boolean(change)}`;
    const connection = { host: "127.0.0.1", port: server.port, maxRetriesPerRequest: null };
    const queue = new Queue(name, { connection });
    const inbox = bullmqInbox(queue, { retry: { limit: 2, firstMs: 1, mostMs: 1 } });
    let runs = 0;
    const receiver = createReceiver({
      secret,
      name,
      log: () => {},
      on: {
        "*": inbox(() => {
          runs += 1;
          throw new Error("There is no such customer.");
        }),
      },
    });
    const worker = new Worker(name, inbox.processor(receiver), { connection });
    onTestFinished(async () => {
      await worker.close(true);
      await queue.close();
    });
    const delivery = await signed(eventBody("email.sent", { to: "ada@example.com" }));
    expect(await receiver.receive(delivery)).toMatchObject({ code: "enqueued" });
    const dead = async () => (await inbox.admin.stats()).dead;
    await until(async () => (await dead()) === 1, "it is dead");
    const [job] = await queue.getFailed();
    const page = await served((await listeners[framework]?.(queue, change)) as RequestListener);
    return { page, name, id: String(job?.id), runs: () => runs, dead };
  };

  test.each(Object.keys(listeners))(
    "is refused without the check of %s, and shows jobs with it",
    async (framework) => {
      const { page, name, id } = await withDeadLetter(framework);
      const start = await page.open("/admin/queues");
      expect(start).toMatchObject({
        status: 200,
        text: expect.stringContaining("<html") as string,
      });
      const files = page.filesOf("/admin/queues", start.text);
      expect(files.length).toBeGreaterThan(3);
      for (const file of files) expect(await page.open(file)).toMatchObject({ status: 200 });
      const { status, text } = await page.open(
        `/admin/queues/api/queues?activeQueue=${name}&status=failed&page=1&jobsPerPage=10`,
      );
      expect(status).toBe(200);
      const { queues } = JSON.parse(text) as { queues: readonly { readonly jobs: unknown }[] };
      expect(queues[0]?.jobs).toEqual([
        expect.objectContaining({
          id,
          failedReason: "There is no such customer.",
          data: expect.objectContaining({ body: expect.stringContaining("ada@example.com") }),
        }),
      ]);
      for (const { path, ...init } of changes(name, id)) {
        expect([path, (await page.open(path, init)).status]).toEqual([path, 405]);
      }
    },
  );

  test("without readOnlyMode, its retry gives a dead letter one attempt, and jobs can be changed", async () => {
    const { page, name, id, runs, dead } = await withDeadLetter("Express", (block) => ({
      ...block,
      module: "not-read-only",
      code: block.code.replace(", { readOnlyMode: true }", ""),
    }));
    expect(runs()).toBe(2);
    const [retry, ...others] = changes(name, id);
    expect(await page.open(String(retry?.path), retry)).toMatchObject({ status: 204 });
    await until(async () => runs() === 3 && (await dead()) === 1, "it is dead again");
    for (const { path, ...init } of others) {
      expect([path, (await page.open(path, init)).status]).toEqual([path, 200]);
    }
    await until(async () => (await dead()) === 2, "the job of the page is dead");
  });

  test.each(["typescript", "typescript5"] as const)(
    "its code compiles with %s",
    async (compiler) => {
      const blocks = codeBlocks(readme).filter(isOfPage);
      expect(blocks).toHaveLength(2);
      expect(await errorsOf(compiler, folder, blocks)).toBe("");
    },
  );
});
