import { DeliveryRecords, durableObjectStore } from "@svc-webhooks/cloudflare";
import { queuesInbox, type DeadLetter, type QueueLike } from "@svc-webhooks/cloudflare/queues";
import { createReceiver, PermanentError } from "@svc-webhooks/core";

export { DeliveryRecords };

interface Bindings {
  readonly QUEUE: QueueLike;
  readonly DEAD: QueueLike;
  readonly RECORDS: DurableObjectNamespace<DeliveryRecords>;
  /** The test. */
  readonly TEST: Fetcher;
  readonly LIMIT: number;
}

/** A run of the handler, as the test receives it. */
export interface Run {
  readonly deliveryId: string;
  readonly run: number | undefined;
  /** The bytes of the body in hexadecimal digits. */
  readonly body: string;
}

/** The messages that the test sends to the queue. JSON cannot contain the last two. */
const foreign: Readonly<Record<string, unknown>> = {
  "a map": new Map([["hello", "world"]]),
  "a big integer": { v: 1, key: "", headers: {}, body: 5n },
};

const post = async (to: Fetcher, path: string, data: unknown = {}): Promise<string> => {
  const response = await to.fetch(`http://test/${path}`, {
    method: "POST",
    body: JSON.stringify(data),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
};

function build({ QUEUE, DEAD, RECORDS, TEST, LIMIT }: Bindings) {
  const inbox = queuesInbox(() => QUEUE, { retry: { limit: LIMIT, firstMs: 1, mostMs: 1 } });
  const store = durableObjectStore(RECORDS);
  const silent = { info() {}, warn() {}, error() {} };
  const receiver = createReceiver({
    name: "mail",
    secret: "whsec_test",
    store: {
      ...store,
      async claim(...given) {
        await post(TEST, "claim");
        return store.claim(...given);
      },
    },
    maxBodyBytes: inbox.maxBodyBytes,
    logger: silent,
    on: {
      "*": inbox(async (_event, { deliveryId, run, delivery }) => {
        const body = Array.from(delivery.body, (byte) => byte.toString(16).padStart(2, "0")).join(
          "",
        );
        const text = await post(TEST, "run", { deliveryId, run, body } satisfies Run);
        if (text !== "") throw new PermanentError(text);
      }),
    },
  });
  const dead: QueueLike = {
    async send(...given) {
      await post(TEST, "letter");
      return DEAD.send(...given);
    },
  };
  const logged: Promise<string>[] = [];
  const consume = inbox.consumer(receiver, {
    dead: () => dead,
    waitMs: 0,
    logger: { error: (line) => logged.push(post(TEST, "line", line)) },
  });
  return { receiver, consume, logged };
}

let built: ReturnType<typeof build> | undefined;

export default {
  async fetch(request: Request, env: Bindings): Promise<Response> {
    const { receiver } = (built ??= build(env));
    const given = await request.json<{ delivery?: RequestInit; name?: string; body?: unknown }>();
    const { delivery, name, body } = given;
    // The receiver refuses a large body without reading it, which would close the test's connection.
    if (delivery) return receiver.fetch(new Request(request.url, delivery), env);
    const message = name === undefined ? body : foreign[name];
    await env.QUEUE.send(message, { contentType: name === undefined ? "json" : "v8" });
    return new Response();
  },

  async queue(batch: MessageBatch, env: Bindings): Promise<void> {
    const { consume, logged } = (built ??= build(env));
    if (batch.queue === "mail") {
      await consume(batch);
      await Promise.all(logged.splice(0));
      return;
    }
    for (const { body } of batch.messages) {
      const { job } = body as DeadLetter;
      const kept = job instanceof Map ? "a map" : Object(job).body === 5n ? "a big integer" : job;
      await post(env.TEST, "dead", typeof body === "object" ? { ...body, job: kept } : body);
    }
  },
};
