import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { createReceiver, type Receiver } from "@svc-webhooks/core";
import type { Inbox } from "@svc-webhooks/core/inbox";
import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { Progress } from "@svc-webhooks/kit/progress";
import {
  describeWithRabbitmq,
  rabbitmqServer,
  type RabbitmqServer,
} from "@svc-webhooks/kit/rabbitmq-server";
import { sized } from "@svc-webhooks/kit/sized";
import { tcpProxy, type TcpProxy } from "@svc-webhooks/kit/tcp-proxy";
import { until } from "@svc-webhooks/kit/until";
import { inboxContract } from "@svc-webhooks/testing/inbox";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { importBlock } from "./blocks.js";
import { installedWith } from "./install.js";

interface Worker {
  stop(): Promise<void>;
}

interface Queue {
  readonly inbox: Inbox;
  setUp(): Promise<void>;
  work(receiver: Pick<Receiver, "resume">, concurrency?: number): Worker;
}

/** The block of `docs/queues.md` about RabbitMQ. */
interface Recipe {
  readonly rabbitQueue: (url: string, options: object) => Queue;
}

/** The parts of a channel of `amqplib` that the tests call. */
interface Channel {
  get(queue: string): Promise<Message | false>;
  publish(
    to: string,
    key: string,
    body: Buffer,
    options: object,
    done: (error: unknown) => void,
  ): void;
  sendToQueue(queue: string, body: Buffer): void;
  waitForConfirms(): Promise<void>;
}
interface Message {
  readonly content: Buffer;
  readonly properties: { readonly headers: { readonly error?: string } };
}
interface Connection {
  createConfirmChannel(): Promise<Channel>;
  close(): Promise<void>;
  on(event: "error", listener: () => void): void;
}

const packages = ["amqplib@2.3.1"];

describeWithRabbitmq("RabbitMQ", () => {
  let server: RabbitmqServer;
  let recipe: Recipe;
  let connect: (url: string) => Promise<Connection>;
  let queues = 0;

  beforeAll(async () => {
    const folder = await installedWith(packages, { own: ["svc-webhooks"], node: "20" });
    recipe = await importBlock<Recipe>(folder, "docs/queues.md", '"amqplib"');
    ({ connect } = (await import(
      pathToFileURL(join(folder, "node_modules/amqplib/channel_api.js")).href
    )) as { connect: typeof connect });
    server = await rabbitmqServer();
  });
  afterAll(() => server?.close());

  const channelOf = async () => {
    const connection = await connect(server.url);
    connection.on("error", () => {});
    return { connection, channel: await connection.createConfirmChannel() };
  };

  /** Creates an empty queue. */
  const emptyQueue = async (attempts: number) => {
    queues += 1;
    const name = `queue-${queues}`;
    const options = { queue: name, attempts, pausesMs: [1, 100, 1_000, 5_000] };
    const own = (url = server.url) => recipe.rabbitQueue(url, options);
    await own().setUp();
    return { name, own };
  };

  inboxContract(
    { describe: describe.concurrent, it: test },
    "passes the contract",
    async ({ attempts }) => {
      const { name, own } = await emptyQueue(attempts);
      const { connection, channel } = await channelOf();
      const workers: Worker[] = [];
      const proxies: TcpProxy[] = [];
      return {
        async connect() {
          const { port } = new URL(server.url);
          const proxy = await tcpProxy(Number(port));
          proxies.push(proxy);
          const queue = own(server.url.replace(port, String(proxy.port)));
          return {
            inbox: queue.inbox,
            work(receiver) {
              const worker = queue.work(receiver, 8);
              workers.push(worker);
              return worker;
            },
            kill: () => proxy.set("refuse"),
          };
        },
        async inject(data) {
          channel.sendToQueue(name, Buffer.from(JSON.stringify(data)));
          await channel.waitForConfirms();
        },
        async deadLetters() {
          const reading = await channelOf();
          const found: { key: string; error: string | undefined }[] = [];
          for (;;) {
            const message = await reading.channel.get(`${name}.dead`);
            if (!message) break;
            const { key = "" } = JSON.parse(message.content.toString()) as { key?: string };
            found.push({ key, error: message.properties.headers.error });
          }
          await reading.connection.close();
          return found;
        },
        async close() {
          // The run of a worker that was cut may never end.
          for (const worker of workers) void worker.stop();
          for (const proxy of proxies) await proxy.close();
          await connection.close();
        },
      };
    },
    { admin: false, deduplicates: false },
  );

  test("a message for a queue that does not exist is confirmed unless it is mandatory, and the recipe refuses it", async () => {
    const { connection, channel } = await channelOf();
    const confirmed = new Promise((resolve) =>
      channel.publish("", "missing", Buffer.from("{}"), { persistent: true }, resolve),
    );
    expect(await confirmed).toBeNull();
    await connection.close();
    const { inbox } = recipe.rabbitQueue(server.url, { queue: "missing" });
    const receiver = createReceiver({ secret, name: "mail", on: { "*": inbox() }, log() {} });
    expect(await receiver.receive(await signed())).toMatchObject({ status: 503 });
  });

  const [events, crashes] = sized([300, 1], [3_000, 4]);
  test(`of ${events} events, each that was acknowledged has one effect after ${crashes} crashes of the server`, async () => {
    const { own } = await emptyQueue(12);
    const effects = new Map<string, number>();
    const queue = own();
    const receiver = createReceiver({
      secret,
      name: "mail",
      log() {},
      on: {
        "*": queue.inbox((_event, { deliveryId }) => {
          effects.set(deliveryId, (effects.get(deliveryId) ?? 0) + 1);
        }),
      },
    });
    const worker = queue.work(receiver);
    onTestFinished(() => worker.stop());
    const progress = new Progress();
    const over = new AbortController();
    let count = 0;
    const crashing = progress.every(Math.floor(events / (crashes + 1)), over.signal, async () => {
      if (count >= crashes) return;
      count += 1;
      await server.crash();
    });
    let next = 0;
    const send = async () => {
      while (next < events) {
        const id = `dlv_${(next += 1)}`;
        const delivery = await signed(eventBody(), { "x-svc-delivery-id": id });
        while ((await receiver.receive(delivery)).code !== "enqueued") await pause(50);
        progress.step();
      }
    };
    await Promise.all(Array.from({ length: 16 }, send));
    over.abort();
    await crashing;
    await until(() => effects.size === events, "all have run");
    expect([count, Math.max(...effects.values())]).toEqual([crashes, 1]);
  });
});
