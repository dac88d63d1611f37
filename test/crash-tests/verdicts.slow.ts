import { expect, test } from "vitest";
import type { Planted } from "./handlers.js";
import { nameOf, reportOf } from "./in-process.js";
import { oneFault } from "./one-fault.js";

const namesOf = async (planted: Omit<Planted, "name">) =>
  (await reportOf({ name: "verdict", ...planted }, oneFault)).findings.map(nameOf);

test("a delete that a second run repeats is a duplicate", async () => {
  const names = await namesOf({
    handler: ({ pool, call }) => {
      const remove = "delete from queue where id = (select min(id) from queue)";
      return async (_event, { idempotencyKey }) => {
        await pool.query(remove);
        await call("charge", idempotencyKey);
      };
    },
  });
  expect(names).toEqual(["duplicate queue"]);
});

test("a flag that two runs turn back is different", async () => {
  const names = await namesOf({
    handler:
      ({ pool }) =>
      () =>
        pool.query("update flags set is_on = not is_on"),
  });
  expect(names).toEqual(["different flags"]);
});

test("effects that occur only under a fault are not judged", async () => {
  const names = await namesOf({
    handler:
      ({ call }) =>
      async (_event, { idempotencyKey }) => {
        try {
          await call("charge", idempotencyKey);
        } catch (error) {
          await call("alert", idempotencyKey);
          throw error;
        }
      },
  });
  expect(names).toEqual([]);
});

/** Runs a handler that reads whether a mail is wanted, and otherwise sends none. */
const reading = (isWanted: (response: Response) => boolean | Promise<boolean>) =>
  reportOf(
    {
      name: "reads",
      handler:
        ({ call }) =>
        async (_event, { idempotencyKey }) => {
          const response = await fetch("http://api.example.com/settings");
          if (await isWanted(response)) await call("mail", idempotencyKey);
        },
    },
    { ...oneFault, respond: () => Response.json({ isWanted: true }) },
  );

test("a read that gets a 503 and whose status is not checked loses the effect that depends on it", async () => {
  const { findings } = await reading(async (response) => {
    const { isWanted } = (await response.json()) as { readonly isWanted?: boolean };
    return isWanted === true;
  });
  expect(findings.map(nameOf)).toEqual(["lost mail"]);
  expect(findings[0]).toMatchObject({
    cells: ["status@3"],
    advice: expect.stringMatching(
      /^The handler resolved although `GET api\.example\.com\/settings` responded 503\./,
    ) as string,
  });
});

test.each([
  {
    does: "rejects",
    isWanted: ({ ok }: Response) => {
      if (ok) return true;
      throw new Error("The settings are not available.");
    },
  },
  { does: "continues with a default that has the same effects", isWanted: () => true },
])("a handler that $does after a read that got a 503 is correct", async ({ isWanted }) => {
  expect((await reading(isWanted)).findings.map(nameOf)).toEqual([]);
});

test("a handler that repeats a request after a 503 itself is correct", async () => {
  const names = await namesOf({
    handler:
      ({ post }) =>
      async (_event, { idempotencyKey }) => {
        for (let attempt = 1; attempt <= 2; attempt += 1) {
          if ((await post("mail", idempotencyKey)).ok) return;
        }
        throw new Error("The API responded with an error.");
      },
  });
  expect(names).toEqual([]);
});

/** Runs a handler, and returns its findings, each with its advice. */
/** The end of the advice for a call without a key. */
const orJob =
  'If its API honors no key, use an outbox: store the call as a job in the transaction that completes the event (recipe "Effects after the commit").';

const adviceOf = async (handler: Planted["handler"]) =>
  (await reportOf({ name: "advice", handler }, oneFault)).findings.map(
    (finding) => `${nameOf(finding)}: ${finding.advice}`,
  );

test("several calls of one event need a key each, and those that share one are counted", async () => {
  const charges =
    (keyOf: (key: string, item: string) => string | undefined): Planted["handler"] =>
    ({ call }) =>
    async (_event, { idempotencyKey }) => {
      for (const item of ["a", "b", "c"]) await call("charge", keyOf(idempotencyKey, item));
    };
  const keys = "`context.idempotencyKey` together with what distinguishes the 3 calls of one event";
  expect(await adviceOf(charges(() => undefined))).toEqual([
    `duplicate charge: Pass a different key to each call of \`POST api.example.com/charge\`: ${keys}, such as the id of an item. ${orJob}`,
  ]);
  expect(await adviceOf(charges(() => crypto.randomUUID()))).toEqual([
    `duplicate charge: The key of \`POST api.example.com/charge\` changes from run to run. Use only ${keys}, such as the id of an item.`,
  ]);
  const keyed = async (handler: Planted["handler"]) =>
    (await reportOf({ name: "keys", handler }, oneFault)).keyed;
  expect(await keyed(charges((key, item) => `${key}-${item}`))).toEqual([
    "POST api.example.com/charge",
  ]);
  expect(await keyed(charges((key) => key))).toEqual([
    "POST api.example.com/charge (3 calls with 1 key: calls with the same key count as one)",
  ]);
});

test.each(["undefined", " "])("the key %j is none", async (key) => {
  expect(
    await adviceOf(
      ({ call }) =>
        () =>
          call("charge", key),
    ),
  ).toEqual([
    `duplicate charge: Pass \`context.idempotencyKey\` to \`POST api.example.com/charge\`. ${orJob}`,
  ]);
});

test("a PUT request whose body changes is a duplicate, and has no key", async () => {
  const put = (bodyOf: () => string) =>
    reportOf(
      {
        name: "put",
        handler: () => async () => {
          const request = { method: "PUT", body: bodyOf() };
          const { ok } = await fetch("http://api.example.com/orders/1", request);
          if (!ok) throw new Error("The API responded with an error.");
        },
      },
      oneFault,
    );
  expect(await put(() => "paid")).toMatchObject({ findings: [], keyed: [] });
  const { findings, text } = await put(() => new Date().toISOString());
  expect(findings.map(({ advice }) => advice)).toEqual([
    expect.stringMatching(/^Another run sends a different `PUT api\.example\.com\/orders\/1`/),
  ]);
  expect(text).not.toContain("2026-");
});

test.each<{
  readonly mistake: string;
  readonly advice: string;
  readonly handler: Planted["handler"];
}>([
  {
    mistake: "a statement in `forEach` is not awaited",
    advice: "partial keyed: `keyed` is not awaited. Await or return it.",
    handler:
      ({ pool }) =>
      async (_event, { idempotencyKey }) => {
        // oxlint-disable-next-line unicorn/no-array-for-each, typescript/no-misused-promises -- the mistake
        ["a", "b"].forEach(async (item) => {
          const text = "insert into keyed values ($1, $2) on conflict do nothing";
          await pool.query(text, [`${idempotencyKey}-${item}`, item]);
        });
      },
  },
  {
    mistake: "the error of a transaction is caught",
    advice:
      "lost orders: The handler resolved although `begin` rejected, so `orders` is missing. Await this call, and let the handler reject too, so that the sender retries.",
    handler:
      ({ store }) =>
      async (_event, context) => {
        const text = "insert into orders (email_id) values ('a')";
        await store.transaction(context, (tx) => tx.query(text)).catch(() => {});
      },
  },
  {
    mistake: "a client is not released after an error",
    advice:
      "stuck transaction: The handler ended, but its transaction did not, so its connection was not released. Use `store.transaction`, or commit or roll back and release the client in `finally`.",
    handler:
      ({ pool, call }) =>
      async (_event, { idempotencyKey }) => {
        const client = await pool.connect();
        await client.query("begin");
        const text = "insert into keyed values ($1, 'a') on conflict do nothing";
        await client.query(text, [idempotencyKey]);
        await call("mail", idempotencyKey);
        await client.query("commit");
        client.release();
      },
  },
  {
    mistake: "a number is increased once per run",
    advice:
      "different stats: Each run writes `stats` again. Write to it inside `store.transaction`, and if the value comes from the process's memory, compute it in the database.",
    handler:
      ({ pool }) =>
      () =>
        pool.query("update stats set n = n + 1"),
  },
])("the advice fits if $mistake", async ({ advice, handler }) => {
  expect(await adviceOf(handler)).toEqual([advice]);
});

test("two events with the same key share their effect", async () => {
  const names = await namesOf({
    events: [
      { type: "email.sent", data: { email_id: "msg_1" } },
      { type: "email.delivered", data: { email_id: "msg_1" } },
    ],
    handler:
      ({ call }) =>
      () =>
        call("welcome", "msg_1"),
  });
  expect(names).toEqual([]);
});

test("ids that PostgreSQL generates, and foreign keys to them, are not compared", async () => {
  const names = await namesOf({
    handler:
      ({ store }) =>
      (_event, context) =>
        store.transaction(context, async (tx) => {
          const { rows } = await tx.query<{ id: string }>(
            "insert into parents (note) values ('b') returning id",
          );
          await tx.query("insert into children (parent, t) values ($1, 'a')", [rows[0]?.id]);
        }),
  });
  expect(names).toEqual([]);
});

test("a column whose default only contains the letters of `now` is compared", async () => {
  const names = await namesOf({
    handler: ({ store }) => {
      let count = 0;
      return (_event, context) => {
        count += 1;
        const text = "insert into answers (answer) values ($1)";
        return store.transaction(context, (tx) => tx.query(text, [`answer ${count}`]));
      };
    },
  });
  expect(names).toEqual(["different answers"]);
});

test("a client that is released with an error gives its transaction back", async () => {
  const names = await namesOf({
    handler:
      ({ pool, call }) =>
      async (_event, { idempotencyKey }) => {
        const client = await pool.connect();
        let failure: Error | undefined;
        try {
          await client.query("begin");
          const text = "insert into keyed values ($1, 'x') on conflict do nothing";
          await client.query(text, [idempotencyKey]);
          await call("charge", idempotencyKey);
          await client.query("commit");
        } catch (error) {
          failure = error as Error;
          throw error;
        } finally {
          client.release(failure);
        }
      },
  });
  expect(names).toEqual([]);
});

test("`COPY FROM STDIN` is refused, and does not wait", async () => {
  const run = namesOf({
    handler:
      ({ pool }) =>
      () =>
        pool.query("copy orders (email_id) from stdin"),
  });
  await expect(run).rejects.toMatchObject({
    code: "not_acknowledged",
    message: expect.stringContaining("COPY FROM STDIN and FROM PROGRAM do not work") as string,
  });
});
