import { fileURLToPath } from "node:url";
import type { InboxJob } from "@svc-webhooks/core/inbox";
import { bundled } from "@svc-webhooks/kit/launch";
import { until } from "@svc-webhooks/kit/until";
import { codeOf } from "@svc-webhooks/kit/web";
import { workerd } from "@svc-webhooks/kit/workers";
import { signedDelivery } from "@svc-webhooks/testing";
import { Response, type Request } from "miniflare";
import { expect, onTestFinished, test } from "vitest";
import { queuesInbox, type DeadLetter } from "../../src/queues.js";
import type { Run } from "./worker.js";

const script = await bundled(fileURLToPath(new URL("worker.ts", import.meta.url)), "workerd");
const { maxBodyBytes } = queuesInbox(() => ({ send: async () => {} }));

const event = { type: "email.delivered" };
const limit = 3;

/** Starts a Worker that accepts deliveries, and runs them from a real queue with a Durable Object store. */
async function start(consumer: object = {}) {
  const runs: Run[] = [];
  const letters: unknown[] = [];
  const lines: string[] = [];
  /** The behavior of the parts of the Worker. If one throws, the part fails. */
  const faults = {
    /** Returns the text of a `PermanentError`, or nothing. */
    run: (_run: Run): string | Promise<string> => "",
    claim: () => {},
    letter: () => {},
  };
  const answers: Readonly<Record<string, (data: never) => unknown>> = {
    run: (run: Run) => {
      runs.push(run);
      return faults.run(run);
    },
    claim: () => faults.claim(),
    letter: () => faults.letter(),
    line: (line: string) => void lines.push(line),
    dead: (letter: unknown) => void letters.push(letter),
  };
  const serve = async (request: Request): Promise<Response> => {
    const data = (await request.json()) as never;
    try {
      const text = await answers[new URL(request.url).pathname.slice(1)]?.(data);
      return new Response(typeof text === "string" ? text : "");
    } catch (error) {
      return new Response((error as Error).message, { status: 500 });
    }
  };
  const quick = { maxBatchSize: 10, maxBatchTimeout: 0 };
  const worker = workerd(script, {
    bindings: { LIMIT: limit },
    durableObjects: { RECORDS: { className: "DeliveryRecords", useSQLite: true } },
    serviceBindings: { TEST: serve },
    queueProducers: { QUEUE: { queueName: "mail" }, DEAD: { queueName: "dead" } },
    queueConsumers: { mail: { ...quick, maxRetries: 100, ...consumer }, dead: quick },
  });
  onTestFinished(() => worker.dispose());
  const url = await worker.ready;
  const post = (data: object) => fetch(url, { method: "POST", body: JSON.stringify(data) });
  return {
    runs,
    letters: letters as DeadLetter[],
    lines,
    faults,
    send: async (deliveryId: string, sent: string | object = event) => {
      const { body, ...delivery } = await signedDelivery(sent, {
        deliveryId,
        secret: "whsec_test",
      });
      return codeOf(await post({ delivery: { ...delivery, body: Buffer.from(body).toString() } }));
    },
    /** Sends a message to the queue as another application might. */
    inject: async (message: { readonly name: string } | { readonly body: unknown }) => {
      await post(message);
    },
  };
}

const idsOf = (runs: readonly Run[]) => runs.map(({ deliveryId }) => deliveryId);

const fails = (text: string) => () => {
  throw new Error(text);
};

test("two copies of a delivery are two messages with one effect", async () => {
  const { runs, letters, send } = await start();
  expect(await Promise.all([send("dlv_1"), send("dlv_1")])).toEqual(["enqueued", "enqueued"]);
  expect(await send("dlv_1")).toBe("enqueued");
  await send("dlv_2");
  await until(() => idsOf(runs).includes("dlv_2"), "a later event has run");
  expect(idsOf(runs)).toEqual(["dlv_1", "dlv_2"]);
  expect(letters).toEqual([]);
});

test("a handler that fails is retried, and has one effect", async () => {
  const { runs, letters, faults, send } = await start();
  faults.run = ({ run }) => (run === 1 ? fails("the mail server is down")() : "");
  await send("dlv_1");
  await until(() => runs.length === 2, "the handler has run twice");
  await send("dlv_2");
  await until(() => runs.length === 4, "a later event has run twice");
  expect(runs.map(({ run }) => run)).toEqual([1, 2, 1, 2]);
  expect(letters).toEqual([]);
});

test("a PermanentError makes a dead letter with its cause after one run", async () => {
  const { runs, letters, faults, send } = await start();
  faults.run = () => "There is no such customer.";
  await send("dlv_1");
  await until(() => letters.length === 1, "there is a dead letter");
  expect(letters).toEqual([
    {
      error: "There is no such customer.",
      attempts: 1,
      job: expect.objectContaining({
        v: 1,
        deliveryId: "dlv_1",
        body: JSON.stringify(event),
      }) as InboxJob,
    },
  ]);
  expect(runs).toHaveLength(1);
});

test("the last attempt makes a dead letter, which runs again from its job", async () => {
  const { runs, letters, faults, send, inject } = await start();
  faults.run = ({ run }) => fails(`failure ${run}`)();
  await send("dlv_1");
  await until(() => letters.length === 1, "there is a dead letter");
  expect(letters).toMatchObject([{ error: "failure 3", attempts: limit }]);
  faults.run = () => "";
  await inject({ body: letters[0]?.job });
  await until(() => runs.length === 4, "the dead letter has run");
  expect(runs.map(({ run }) => run)).toEqual([1, 2, 3, 1]);
});

test("a message whose dead letter is not stored is retried, and not lost", async () => {
  const { letters, lines, faults, send } = await start();
  faults.run = () => "poison";
  let refused = 0;
  faults.letter = () => {
    refused += 1;
    if (refused <= 2) fails("Too Many Requests")();
  };
  await send("dlv_1");
  await until(() => letters.length === 1, "the dead letter is stored");
  expect(letters).toMatchObject([{ error: "poison", attempts: 3 }]);
  const line =
    "svc-webhooks: The dead-letter queue did not store a dead letter, so its message will be retried, and its handler will run again. Check the binding that `dead` returns. Error: Too Many Requests";
  expect(lines).toEqual([line, line]);
});

test("messages that no inbox wrote are dead letters, and others continue", async () => {
  const { runs, letters, faults, send, inject } = await start();
  faults.run = () => "no such customer";
  await send("dlv_1");
  await until(() => letters.length === 1, "the job of a delivery is known");
  const job = letters.pop()?.job as InboxJob;
  runs.length = 0;
  const unreadable = [
    null,
    "text",
    5,
    [job],
    {},
    { ...job, v: 2 },
    { ...job, key: undefined },
    { ...job, body: undefined },
    { ...job, headers: "none" },
  ];
  const unknown = { ...job, key: "0".repeat(32) };
  for (const body of [...unreadable, unknown]) await inject({ body });
  await inject({ name: "a map" });
  await inject({ name: "a big integer" });
  faults.run = () => "";
  await send("dlv_2");
  await until(() => letters.length === unreadable.length + 3, "each message is a dead letter");
  await until(() => runs.length === 1, "the delivery has run");
  const caused = (cause: RegExp) =>
    letters.filter(({ error }) => cause.test(error)).map((one) => one.job);
  const bodies = JSON.parse(JSON.stringify(unreadable)) as unknown[];
  expect(caused(/not the unchanged data of an inbox job/)).toEqual(
    expect.arrayContaining([...bodies, "a map", "a big integer"]),
  );
  expect(caused(/another name or dedupeBy/)).toEqual([unknown]);
  expect(idsOf(runs)).toEqual(["dlv_2"]);
});

test("a message that leaves no room for a cause reaches Cloudflare's dead letter queue", async () => {
  const { letters, lines, inject } = await start({ maxRetries: 1, deadLetterQueue: "dead" });
  const body = "x".repeat(127_900);
  await inject({ body });
  await until(() => letters.length === 1, "Cloudflare has moved the message");
  expect(letters).toEqual([body]);
  expect(lines).toHaveLength(2);
});

test("a store that is unavailable makes no dead letter, however long it is", async () => {
  const { runs, letters, faults, send } = await start();
  let claims = 0;
  faults.claim = () => {
    claims += 1;
    if (claims <= limit + 1) fails("unavailable")();
  };
  await send("dlv_1");
  await until(() => runs.length === 1, "the handler has run");
  expect(letters).toEqual([]);
  expect(claims).toBe(limit + 2);
});

test("the jobs of a batch run concurrently", async () => {
  const { runs, faults, send } = await start({ maxBatchSize: 2, maxBatchTimeout: 60 });
  faults.run = async () => {
    await until(() => runs.length === 2, "both handlers run");
    return "";
  };
  await Promise.all([send("dlv_1"), send("dlv_2")]);
  await until(() => runs.length === 2, "both handlers run");
  expect(idsOf(runs).toSorted()).toEqual(["dlv_1", "dlv_2"]);
});

/** Returns a body of the largest size that repeats a text. */
const filled = (text: string) => {
  const [opening, end] = ['{"type":"email.delivered","text":"', '"}'];
  const room = maxBodyBytes - opening.length - end.length;
  const body = `${opening}${text.repeat(room / Buffer.byteLength(text))}${end}`;
  return body + " ".repeat(maxBodyBytes - Buffer.byteLength(body));
};

test.each([
  ["letters", "x"],
  ["quotes", '\\"'],
  ["backslashes", "\\\\"],
  ["characters of three bytes", "\u20ac"],
])("the largest body of %s comes back, also as a dead letter", async (_what, text) => {
  const { runs, letters, faults, send } = await start();
  faults.run = () => "\u20ac".repeat(1_000);
  const body = filled(text);
  expect(await send("d".repeat(256), body)).toBe("enqueued");
  await until(() => letters.length === 1, "there is a dead letter");
  expect(runs[0]?.body).toBe(Buffer.from(body).toString("hex"));
  expect(letters[0]?.error).toBe("\u20ac".repeat(500));
});

test("a larger body is refused, and others continue", async () => {
  const { runs, send } = await start();
  expect(await send("dlv_1", `${filled("x")} `)).toBe("body_too_large");
  expect(await send("dlv_2")).toBe("enqueued");
  await until(() => runs.length === 1, "the other has run");
});
