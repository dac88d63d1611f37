import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import type { Scene } from "./scene.js";
import { entry, heading, note } from "./timeline.js";

/** A message of the app. */
interface Message {
  readonly port?: number;
  readonly status: number;
  readonly code: string;
  readonly deliveryId: string;
  readonly attempt: number;
}

/** Resolves to the next message of the app. Rejects if the app exits. */
async function next(app: ChildProcess): Promise<Message> {
  const exited = once(app, "exit").then(() => Promise.reject(new Error("the app has exited")));
  const [message] = (await Promise.race([once(app, "message"), exited])) as [Message];
  return message;
}

async function end(app: ChildProcess): Promise<void> {
  const exited = once(app, "exit");
  app.kill("SIGKILL");
  await exited;
}

/** Resolves to the subjects of the emails that were handled, when there are this many and the queue is empty. */
async function handledIn(file: string, count: number): Promise<readonly string[]> {
  const db = new DatabaseSync(file);
  try {
    const rows = db.prepare("select subject from delivered order by rowid");
    const jobs = db.prepare("select 1 from svc_webhooks_jobs");
    for (let tries = 0; tries < 500; tries += 1) {
      const subjects = (rows.all() as { readonly subject: string }[]).map(({ subject }) => subject);
      if (subjects.length >= count && jobs.get() === undefined) return subjects;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error("the queue was not empty after 10 s");
  } finally {
    db.close();
  }
}

const show = ({ attempt, status, code }: Message) =>
  entry("←", `email.delivered, attempt ${attempt}`, status, code);

const stop = () => process.exit(1);

export const storedAndKilled: Scene = async ({ client, quietly, stage }) => {
  heading("Three events are stored, and their process is killed before it runs them");
  stage.newScene({ quiet: true });
  const folder = mkdtempSync(join(tmpdir(), "full-loop-"));
  const file = join(folder, "app.db");
  let app: ChildProcess | undefined;
  const removeAll = () => {
    app?.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  process.once("exit", removeAll);
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);

  const start = async (env: NodeJS.ProcessEnv) => {
    const path = fileURLToPath(new URL("queue-app.js", import.meta.url));
    app = fork(path, { env: { ...process.env, DATABASE_FILE: file, ...env } });
    const { port } = await next(app);
    return { app, port: String(port) };
  };

  try {
    const first = await start({ PORT: "0" });
    const { webhook_endpoint, secret } = await client.webhookEndpoints.create({
      url: `http://localhost:${first.port}/webhooks`,
      event_types: ["email.delivered"],
    });
    first.app.send(secret.reveal());
    const stored: Message[] = [];
    for (const subject of ["Receipt 1", "Receipt 2", "Receipt 3"]) {
      const email = {
        from: "shop@example.test",
        to: ["ada@customer.test"],
        subject,
        text: "Thanks.",
      };
      const [message] = await Promise.all([next(first.app), client.emails.send(email)]);
      stored.push(message);
      show(message);
    }
    await end(first.app);
    note("The process is killed. The events are in its SQLite file, and on the disk.");

    const second = await start({ PORT: first.port, WORKS: "yes" });
    second.app.send(secret.reveal());
    note("A new process opens the file.");
    const subjects = await handledIn(file, 3);
    note(`It runs ${subjects.join(", ")}.`);
    const path = `/_sandbox/deliveries/${stored[0]?.deliveryId}/send` as const;
    const body = { times: 1, concurrent: false };
    const [copy] = await Promise.all([next(second.app), quietly.request("POST", path, { body })]);
    show(copy);
    const after = await handledIn(file, 3);
    note("It has the record of the copied event, which is not run again.");

    await stage.until((reports) => reports.filter(({ code }) => code === "processed").length === 6);
    await quietly.webhookEndpoints.archive(webhook_endpoint.webhook_endpoint_id);
    await end(second.app);
    // With --serve, the timeline shows further deliveries.
    stage.newScene();
    return after.join() === "Receipt 1,Receipt 2,Receipt 3"
      ? undefined
      : "an event of the queue was lost, out of order or run twice";
  } finally {
    removeAll();
    process.removeListener("exit", removeAll);
    for (const signal of ["SIGINT", "SIGTERM"]) process.removeListener(signal, stop);
  }
};
