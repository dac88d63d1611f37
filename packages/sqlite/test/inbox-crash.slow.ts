import { execFile } from "node:child_process";
import { root } from "@svc-webhooks/kit/programs";
import { sqliteFile } from "@svc-webhooks/kit/sqlite";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";

/** Accepts an event and runs it. Kills itself before or after a commit, or at another point, if `point` is set. */
const program = (file: string, point: string) => `
  import { DatabaseSync } from "@photostructure/sqlite";
  import { createReceiver, sign } from "@svc-webhooks/core";
  import { migrate, sqliteInbox, sqliteStore } from "@svc-webhooks/sqlite";

  const strike = (at) => {
    if (at === ${JSON.stringify(point)}) process.kill(process.pid, "SIGKILL");
  };
  const own = new DatabaseSync(${JSON.stringify(file)});
  migrate(own);
  own.exec("create table if not exists effects (name text)");
  let commits = 0;
  const db = {
    prepare: (sql) => own.prepare(sql),
    exec(sql) {
      if (sql !== "COMMIT") return own.exec(sql);
      commits += 1;
      strike(\`before commit \${commits}\`);
      own.exec(sql);
      strike(\`after commit \${commits}\`);
    },
  };
  const store = sqliteStore(db);
  const inbox = sqliteInbox(db);
  const receiver = createReceiver({
    name: "crash", secret: "whsec_test", store, leaseMs: 10_000, log() {},
    on: {
      "*": inbox((event, context) =>
        store.transaction(context, () => {
          own.prepare("insert into effects values ('a')").run();
          strike("effect written");
        }),
      ),
    },
  });
  const body = '{"type":"email.sent"}';
  const headers = { "x-svc-signature": await sign(body, "whsec_test"), "x-svc-delivery-id": "a" };
  const { code } = await receiver.receive({ method: "POST", headers, body: Buffer.from(body) });
  strike("answered");
  const worker = await inbox.work(receiver);
  const isLeft = own.prepare("select 1 from svc_webhooks_jobs");
  while (isLeft.get()) await new Promise((resolve) => setTimeout(resolve, 20));
  await worker.stop({ deadlineMs: 60_000 });
  strike("settled");
  console.log(code);`;

/** Runs the program. Resolves to its output, or to the signal that ended it. */
const run = (file: string, point = "") =>
  new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      ["--input-type=module", "--eval", program(file, point)],
      { cwd: root },
      (error, stdout, stderr) => resolve(error?.signal ?? (stdout.trim() || stderr)),
    );
  });

// The commits are those of acceptance, of take, of the claim and of the transaction.
test.concurrent.for([
  "before commit 1",
  "after commit 1",
  "answered",
  "before commit 2",
  "after commit 2",
  "before commit 3",
  "after commit 3",
  "effect written",
  "before commit 4",
  "after commit 4",
  "settled",
])("an event whose process is killed at '%s' has its effect once", async (point, context) => {
  const file = sqliteFile();
  context.expect(await run(file, point)).toBe("SIGKILL");
  // The sender sends the event again, although it may have got its 200.
  context.expect(await run(file)).toBe("enqueued");
  const db = new DatabaseSync(file);
  expect(db.prepare("select name from effects").all()).toEqual([{ name: "a" }]);
  db.close();
});
