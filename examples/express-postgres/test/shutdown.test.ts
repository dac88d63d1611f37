import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { exampleSecret } from "@svc-webhooks/kit/examples";
import { node } from "@svc-webhooks/kit/programs";
import { signedDelivery } from "@svc-webhooks/testing";
import { openDatabase } from "../src/database.js";
import { ordersIn } from "../src/orders.js";

const fileOf = (name: string) => fileURLToPath(new URL(`../dist/${name}.js`, import.meta.url));

test("at SIGTERM the server commits its open transaction, sends the response and exits", async ({
  onTestFinished,
}) => {
  const folder = mkdtempSync(join(tmpdir(), "express-postgres-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { PGLITE_FOLDER: folder, DATABASE_URL: "", SVC_WEBHOOK_SECRET: exampleSecret };
  await node([fileOf("migrate")], { cwd: folder, env });
  const before = openDatabase(env);
  // Every deployment does it again.
  await before.migrate();
  await before.query("insert into orders (id) values (7)");
  await before.query("insert into order_emails (email_id, order_id) values ('msg_1', 7)");
  await before.close();

  const child = fork(fileOf("server"), { env: { ...process.env, ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit");
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  const written = once(child, "message");
  const event = { type: "email.bounced", data: { email_id: "msg_1" } };
  const responded = fetch(
    `http://127.0.0.1:${port}/webhooks`,
    await signedDelivery(event, { secret: exampleSecret }),
  );
  expect(await written).toEqual([{ point: "written" }, undefined]);
  child.kill("SIGTERM");
  child.on("message", () => child.send("continue"));
  child.send("continue");
  const response = await responded;
  expect([response.status, await response.json()]).toEqual([200, { status: "processed" }]);
  expect(await exited).toEqual([0, null]);

  const after = openDatabase(env);
  onTestFinished(() => after.close());
  expect(await ordersIn(after)).toEqual([
    { id: 7, emailsDone: 1, emails: { msg_1: "bounced" }, history: ["msg_1 bounced"] },
  ]);
});
