import { expect, test } from "vitest";
import type { Planted } from "./handlers.js";
import { nameOf, reportOf } from "./in-process.js";

const namesOf = async (planted: Omit<Planted, "name">) =>
  (await reportOf({ name: "verdict", ...planted }, { maxFaults: 1 })).findings.map(nameOf);

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
    { maxFaults: 1, respond: () => Response.json({ isWanted: true }) },
  );

test("a refused read whose status is not checked loses the effect that depends on it", async () => {
  const { findings } = await reading(async (response) => {
    const { isWanted } = (await response.json()) as { readonly isWanted?: boolean };
    return isWanted === true;
  });
  expect(findings.map(nameOf)).toEqual(["lost mail"]);
  expect(findings[0]).toMatchObject({
    cells: ["refuse@3"],
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
])("a handler that $does after a refused read is correct", async ({ isWanted }) => {
  expect((await reading(isWanted)).findings.map(nameOf)).toEqual([]);
});

test("a handler that repeats a refused request itself is correct", async () => {
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
