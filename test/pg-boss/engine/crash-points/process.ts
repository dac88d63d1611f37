import { pgBossInbox } from "@svc-webhooks/pg-boss";
import {
  connection,
  serve,
  settings,
  storing,
} from "../../../faults/crash-points/inbox/process.js";
import { bossOf } from "../boss.js";

/** A process that accepts deliveries and runs them from pg-boss. */
const { connectionString, ...pool } = connection;
const boss = bossOf(connectionString, pool);
await boss.start({ attempts: 1 });
boss.send = storing(boss.send.bind(boss));
const inbox = pgBossInbox(boss, { queue: settings.queue });
await inbox.setup();
serve({ inbox, work: (receiver) => inbox.work(receiver, { concurrency: 4 }) });
