import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { root, run } from "@svc-webhooks/kit/programs";
import { codeBlocks, compileBlocks } from "./readme.js";

const block = codeBlocks("docs/recipes.md").find(({ code }) => code.includes('"BEGIN"'));
if (!block) throw new Error("docs/recipes.md must have the recipe with a transaction.");
const { modulePath } = await compileBlocks([block]);

/**
 * Bun has SQLite built in, in which the recipe's statements mean the same as in Postgres. One
 * connection takes the place of the pool, so transactions do not overlap.
 */
const program = `
  import { Database } from "bun:sqlite";
  import { signedDelivery } from "@svc-webhooks/testing";
  globalThis.secret = "whsec_test";
  const { once, receiverOn } = await import(${JSON.stringify(pathToFileURL(modulePath(block)).href)});

  const database = new Database(":memory:");
  database.run("CREATE TABLE handled_events (key text PRIMARY KEY)");
  database.run("CREATE TABLE delivered (delivery_id text)");
  const client = {
    query: async (text, values = []) => ({ rowCount: database.prepare(text).run(...values).changes }),
    release: () => {},
  };
  const pool = { connect: async () => client };
  const rows = () => database.prepare("SELECT delivery_id FROM delivered").all().length;
  const insert = () => client.query("INSERT INTO delivered (delivery_id) VALUES ($1)", ["dlv_0"]);
  const seen = {};

  const failed = once(pool, "key", async () => {
    await insert();
    throw new Error("after a write");
  });
  seen.error = await failed.catch(({ message }) => message);
  seen.rowsAfterFailure = rows();
  await once(pool, "key", insert);
  await once(pool, "key", insert);
  seen.rowsAfterTwoMore = rows();

  // Two receivers without a common record, as after a crash before the completion.
  const delivery = await signedDelivery({ type: "email.delivered" });
  const outcomes = [];
  for (const receiver of [receiverOn(pool), receiverOn(pool)]) {
    outcomes.push((await receiver.receive(delivery)).code);
  }
  seen.outcomes = outcomes;
  seen.rowsAfterTwoRuns = rows();
  console.log(JSON.stringify(seen));
`;

test("work in the recipe's transaction is committed once, and again only after a rollback", async () => {
  const bun = join(root, "node_modules/.bin/bun");
  const { stdout, stderr } = await run(bun, ["--eval", program], { cwd: root });
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({
    error: "after a write",
    rowsAfterFailure: 0,
    rowsAfterTwoMore: 1,
    outcomes: ["processed", "processed"],
    rowsAfterTwoRuns: 2,
  });
});
