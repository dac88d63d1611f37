import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import { exampleSecret } from "@svc-webhooks/kit/examples";
import { sqliteFile } from "@svc-webhooks/kit/sqlite";
import { until } from "@svc-webhooks/kit/until";
import { signedDelivery } from "@svc-webhooks/testing";
import { expect, onTestFinished, test } from "vitest";

const server = fileURLToPath(new URL("../server.mjs", import.meta.url));

function start() {
  const file = sqliteFile();
  const child = fork(server, {
    env: { ...process.env, DATABASE_FILE: file, SVC_WEBHOOK_SECRET: exampleSecret, PORT: "0" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { file, child, exited: once(child, "exit") };
}

const emailIds = Array.from({ length: 60 }, (_, index) => `msg_${index + 1}`);

/** The numbers of responses after which the server is stopped, and the signals. */
const moments = [0, 1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 59].map(
  (responses, index) => [index % 2 === 0 ? "SIGTERM" : "SIGINT", responses] as const,
);

test.each(moments)(
  "%s after %i responses ends the server, and exactly the acknowledged events have a row",
  async (signal, responses) => {
    const { file, child, exited } = start();
    const [{ port }] = (await once(child, "message")) as [{ port: number }];
    const acknowledged: string[] = [];
    let seen = 0;
    const stopAfter = (count: number) => void (count === responses && child.kill(signal));
    const send = async (emailId: string) => {
      const event = { type: "email.delivered", data: { email_id: emailId } };
      const delivery = await signedDelivery(event, { secret: exampleSecret });
      const response = await fetch(`http://127.0.0.1:${port}/webhooks`, delivery).catch(() => {});
      if (!response) return;
      if (response.status === 200) acknowledged.push(emailId);
      stopAfter((seen += 1));
    };
    const left = [...emailIds];
    const next = async () => {
      for (let emailId = left.shift(); emailId; emailId = left.shift()) await send(emailId);
    };
    const load = Array.from({ length: 8 }, next);
    stopAfter(0);
    await Promise.all(load);
    expect(await exited).toEqual([0, null]);
    expect(acknowledged.length).toBeGreaterThanOrEqual(responses);
    const db = new DatabaseSync(file);
    const rows = db.prepare("select email_id from delivered").all() as { email_id: string }[];
    db.close();
    expect(rows.map((row) => row.email_id).toSorted()).toEqual(acknowledged.toSorted());
  },
);

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s does not cut a delivery off that waits for the file",
  async (signal) => {
    const { file, child, exited } = start();
    const [{ port }] = (await once(child, "message")) as [{ port: number }];
    const url = `http://127.0.0.1:${port}/webhooks`;
    const delivery = await signedDelivery({ type: "email.delivered" }, { secret: exampleSecret });
    const other = await signedDelivery({ type: "email.delivered" }, { secret: exampleSecret });
    const statusOf = async (sent: typeof delivery) => (await fetch(url, sent)).status;
    expect(await statusOf(other)).toBe(200);
    const db = new DatabaseSync(file);
    db.exec("begin immediate");
    const waiting = statusOf(delivery);
    // A duplicate does not need the lock. When these have responses, the first request has arrived.
    for (const _ of [1, 2, 3]) expect(await statusOf(other)).toBe(200);
    child.kill(signal);
    await until(
      () =>
        statusOf(other).then(
          () => false,
          () => true,
        ),
      "the server is closed",
    );
    db.exec("rollback");
    db.close();
    // 503 if this took longer than the deadline of a claim.
    expect([200, 503]).toContain(await waiting);
    expect(await exited).toEqual([0, null]);
  },
);

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s ends a server that has not started listening",
  async (signal) => {
    for (const hasFile of [false, true]) {
      const { file, child, exited } = start();
      if (hasFile) await until(() => existsSync(file), "the file is open");
      child.kill(signal);
      expect([JSON.stringify([null, signal]), "[0,null]"]).toContain(JSON.stringify(await exited));
    }
  },
);
