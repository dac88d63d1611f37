import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import { exampleSecret } from "@svc-webhooks/kit/examples";
import { sqliteFile } from "@svc-webhooks/kit/sqlite";
import { until } from "@svc-webhooks/kit/until";
import { signedDelivery } from "@svc-webhooks/testing";
import { expect, onTestFinished, test } from "vitest";

const server = fileURLToPath(new URL("../server.mjs", import.meta.url));

async function start(env: NodeJS.ProcessEnv = {}) {
  const file = sqliteFile();
  const own = { DATABASE_FILE: file, SVC_WEBHOOK_SECRET: exampleSecret, PORT: "0" };
  const child = fork(server, { env: { ...process.env, ...own, ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit");
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  const url = `http://127.0.0.1:${port}/webhooks`;
  /** Resolves to the status, or to undefined if the server is closed. */
  const send = async (emailId: string) => {
    const event = { type: "email.delivered", data: { order_id: "order_7", email_id: emailId } };
    const delivery = await signedDelivery(event, { secret: exampleSecret });
    const response = await fetch(url, delivery).catch(() => {});
    return response?.status;
  };
  /** Returns the emails with a row, and those that wait in the queue. */
  const inFile = () => {
    const db = new DatabaseSync(file);
    const rows = db.prepare("select email_id from order_emails").all() as { email_id: string }[];
    const jobs = db.prepare("select job from svc_webhooks_jobs").all() as { job: string }[];
    db.close();
    return {
      rows: rows.map((row) => row.email_id),
      jobs: jobs.map(({ job }) => /msg_\d+/.exec(job)?.[0] ?? ""),
    };
  };
  return { child, exited, send, inFile };
}

const signals = ["SIGTERM", "SIGINT"] as const;

test.each(signals)(
  "%s lets the running handler end, and leaves the other events in the queue",
  async (signal) => {
    const { child, exited, send, inFile } = await start({ STOPS_AT: "msg_1" });
    const begun = once(child, "message");
    expect(await send("msg_1")).toBe(200);
    await begun;
    expect(await send("msg_2")).toBe(200);
    child.kill(signal);
    await until(async () => (await send("msg_2")) === undefined, "the server is closed");
    child.send("continue", () => {});
    expect(await exited).toEqual([0, null]);
    expect(inFile()).toEqual({ rows: ["msg_1"], jobs: ["msg_2"] });
  },
);

test.each(signals)(
  "%s in the middle of a load ends the server, and each acknowledged event is in the file",
  async (signal) => {
    const { child, exited, send, inFile } = await start();
    const acknowledged: string[] = [];
    const left = Array.from({ length: 60 }, (_, index) => `msg_${index + 1}`);
    const next = async () => {
      for (let emailId = left.shift(); emailId; emailId = left.shift()) {
        if ((await send(emailId)) === 200) acknowledged.push(emailId);
        if (acknowledged.length === 20) child.kill(signal);
      }
    };
    await Promise.all(Array.from({ length: 8 }, next));
    expect(await exited).toEqual([0, null]);
    const { rows, jobs } = inFile();
    expect([...rows, ...jobs].toSorted()).toEqual(acknowledged.toSorted());
  },
);
