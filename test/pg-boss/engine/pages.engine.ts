import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import {
  describeWithPostgres,
  postgresServer,
  type PostgresServer,
} from "@svc-webhooks/kit/postgres-server";
import express, { type RequestHandler } from "express";
import { Hono, type MiddlewareHandler } from "hono";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { importBlock } from "../../queues/blocks.js";
import { isOperator, served } from "../../queues/page.js";
import { folderVariable } from "./boss.js";
import { listed, worldOf } from "./world.js";

const folder = process.env[folderVariable] ?? "";

const readme = "packages/pg-boss/README.md";

/** A block of the README. */
interface Block<Check, Mounted> {
  readonly page: { close(): Promise<void> };
  readonly queuePage: (check: Check) => Mounted;
}

/** The page as the README mounts it, by framework. */
const listeners: Readonly<Record<string, () => Promise<RequestListener>>> = {
  async Express() {
    const { page, queuePage } = await importBlock<Block<RequestHandler, RequestHandler>>(
      folder,
      readme,
      'from "express"',
    );
    onTestFinished(() => page.close());
    const app = express();
    return app.use(
      queuePage((req, res, next) => {
        if (isOperator(req.headers.authorization)) next();
        else res.sendStatus(403);
      }),
    );
  },
  async Hono() {
    const { page, queuePage } = await importBlock<Block<MiddlewareHandler, Hono>>(
      folder,
      readme,
      'from "hono"',
    );
    onTestFinished(() => page.close());
    const mounted = queuePage(async (c, next) =>
      isOperator(c.req.header("authorization")) ? next() : c.text("Forbidden", 403),
    );
    return getRequestListener(new Hono().route("/", mounted).fetch);
  },
};

describeWithPostgres("the page of pg-boss", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await postgresServer();
    process.env["DATABASE_URL"] = server.connectionString;
  });
  afterAll(() => server?.close());

  test.each(Object.keys(listeners))(
    "is refused without the check of %s, and shows jobs with it",
    async (framework) => {
      const world = await worldOf(server, () => {});
      await world.send("a");
      const [job] = await listed(world.inbox.admin.list({ state: "ready" }));
      const page = await served((await listeners[framework]?.()) as RequestListener);
      const start = await page.open("/admin/queues");
      expect(start).toMatchObject({
        status: 200,
        text: expect.stringContaining("<html") as string,
      });
      const files = page.filesOf("/admin/queues", start.text);
      expect(files.length).toBeGreaterThan(3);
      for (const file of files) expect(await page.open(file)).toMatchObject({ status: 200 });
      const queue = `/admin/queues/queues/${world.queue}`;
      const { status, text } = await page.open(queue);
      expect([status, text]).toEqual([200, expect.stringContaining(String(job?.id))]);
      // The copy of pg-boss in version 1.9 has another schema version than pg-boss 12.38.
      expect(await page.open(`${queue}/jobs/${job?.id}`)).toMatchObject({ status: 500 });
    },
  );
});
