import { durableObjectStore, type DeliveryRecords } from "svc-webhooks/cloudflare";
import { queuesInbox, type DeadLetter } from "svc-webhooks/cloudflare/queues";
import { createReceiver } from "svc-webhooks";
import type { InboxJob } from "svc-webhooks/inbox";
import { emailEvents } from "svc-webhooks/events";

// Cloudflare requires the Worker to export the objects' class.
export { DeliveryRecords } from "svc-webhooks/cloudflare";

interface Env {
  readonly SVC_WEBHOOK_SECRET: string;
  readonly RECORDS: DurableObjectNamespace<DeliveryRecords>;
  readonly QUEUE: Queue<InboxJob>;
  readonly DEAD: Queue<DeadLetter>;
  readonly DB: D1Database;
}

/** Builds the receiver and the consumer of its queue. */
function build(env: Env) {
  const inbox = queuesInbox(() => env.QUEUE, { retry: { limit: 3 } });
  const receiver = createReceiver({
    name: "mail",
    secret: env.SVC_WEBHOOK_SECRET,
    store: durableObjectStore(env.RECORDS),
    events: emailEvents,
    maxBodyBytes: inbox.maxBodyBytes,
    on: {
      "email.delivered": inbox(async ({ data }) => {
        const sql = "update emails set delivered = delivered + 1 where email_id = ?";
        const { meta } = await env.DB.prepare(sql).bind(data?.email_id).run();
        if (meta.changes === 0) throw new Error(`${data?.email_id} is not in the table`);
      }),
    },
  });
  return { receiver, consume: inbox.consumer(receiver, { dead: () => env.DEAD }) };
}

let built: ReturnType<typeof build> | undefined;

/** Keeps dead letters in the database, because a queue deletes its messages after at most 14 days. */
async function keep(letter: DeadLetter | InboxJob, { DB }: Env) {
  // Cloudflare moves a message without a cause if it has retried it 100 times.
  const { error, attempts, job } =
    "job" in letter ? letter : { error: "max_retries", attempts: null, job: letter };
  const insert = DB.prepare("insert into dead_letters (error, attempts, job) values (?, ?, ?)");
  await insert.bind(error, attempts, JSON.stringify(job)).run();
}

export default {
  // Bindings exist only per request, so the receiver is built by the first one of each isolate.
  fetch: (request, env, context) => (built ??= build(env)).receiver.fetch(request, env, context),

  async queue(batch, env) {
    if (batch.queue === "mail") return (built ??= build(env)).consume(batch);
    for (const message of batch.messages) {
      await keep(message.body, env);
      message.ack();
    }
  },
} satisfies ExportedHandler<Env, DeadLetter | InboxJob>;
