import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { testPosix } from "@svc-webhooks/kit/systems";
import { expect } from "vitest";
import { exampleSecret } from "@svc-webhooks/kit/examples";
import { describeWithPostgres, postgresServer } from "@svc-webhooks/kit/postgres-server";
import { node, root } from "@svc-webhooks/kit/programs";
import { signedDelivery } from "@svc-webhooks/testing";
import { openDatabase } from "../src/database.js";
import { ordersIn } from "../src/orders.js";

const fileOf = (name: string) => fileURLToPath(new URL(`../dist/${name}.js`, import.meta.url));

describeWithPostgres("the server", () => {
  testPosix(
    "commits its open transaction at SIGTERM, sends the response and exits",
    async ({ onTestFinished }) => {
      const postgres = await postgresServer();
      onTestFinished(postgres.close);
      const env = {
        DATABASE_URL: postgres.connectionString,
        SVC_WEBHOOK_SECRET: exampleSecret,
      };
      // It runs twice, because every deployment runs it again.
      for (const _ of [1, 2]) {
        const { exitCode, stderr } = await node([fileOf("migrate")], { cwd: root, env });
        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      }
      const database = openDatabase(env);
      onTestFinished(() => database.close());
      await database.query("insert into orders (id) values (7)");
      await database.query("insert into order_emails (email_id, order_id) values ('msg_1', 7)");

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
      child.on("message", () => child.send("continue", () => {}));
      child.send("continue");
      const response = await responded;
      expect([response.status, await response.json()]).toEqual([200, { status: "processed" }]);
      expect(await exited).toEqual([0, null]);
      expect(await ordersIn(database)).toEqual([
        { id: 7, emailsDone: 1, emails: { msg_1: "bounced" }, history: ["msg_1 bounced"] },
      ]);
    },
  );
});
