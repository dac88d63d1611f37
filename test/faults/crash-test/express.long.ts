import { describeWithPostgres } from "@svc-webhooks/kit/postgres-server";
import { eachNth } from "@svc-webhooks/kit/sized";
import { afterAll, beforeAll, test } from "vitest";
import { copiesIn, resultOf, serverWithTables, start } from "./crash-testing.js";

/** The findings and advice of each handler of `servers/express.js`, and the numbers of its crossings and requests. */
const planted = [
  ["charge, then insert", ["duplicate POST PAY_URL/charges"], /Pass `context.idempo/, 6, 1],
  ["random key", ["duplicate POST PAY_URL/charges"], /changes from run to run/, 6, 1],
  ["insert without transaction", ["duplicate orders"], /Write to `orders` inside/, 3, 0],
  ["marker row first", ["partial orders"], /Mark the event as handled only after/, 3, 0],
  ["mail before the commit", ["duplicate POST MAIL_URL/send"], /outbox/, 5, 1],
  ["swallows an error", ["partial POST MAIL_URL/send"], /Let the handler reject too/, 3, 1],
  ["does not check the status", ["partial POST MAIL_URL/send"], /send` responded 503/, 3, 1],
  ["read, modify, write", ["different stats"], /More than one run may have changed/, 4, 0],
  ["correct", [], undefined, 6, 1],
] as const;

describeWithPostgres("an Express receiver that does not use this library", () => {
  let server: Awaited<ReturnType<typeof serverWithTables>>;
  beforeAll(async () => {
    server = await serverWithTables();
  });
  afterAll(() => server.close());

  test.concurrent.for(eachNth(planted, 5))("%s: %j", async (one, { expect, onTestFinished }) => {
    const [handler, expected, advice, crossings, requests] = one;
    const run = start(
      [
        "--start=node test/faults/crash-test/servers/express.js",
        "--event=email.delivered",
        "--secret-env=SIGNING_SECRET",
        "--through=DATABASE_URL",
        "--stub=PAY_URL",
        "--stub=MAIL_URL",
        "--json",
      ],
      { DATABASE_URL: server.url, HANDLER: handler },
      onTestFinished,
    );
    const { code, stdout, stderr } = await run.ended;
    const { report, findings, advice: given } = resultOf(stdout);
    const notes = report.unused.map((name) => `${name} was named but never used, [^\n]+\n`);
    expect(stderr).toMatch(new RegExp(`^${notes.join("")}$`));
    expect(findings).toEqual(expected);
    expect(code).toBe(expected.length > 0 ? 1 : 0);
    expect(given.join()).toMatch(advice ?? /^$/);
    // Two SIGKILLs, a broken connection and a lost response for each crossing; a 503 for each request.
    const histories = 4 * crossings + requests;
    const { points, tried, notReached, unsteady, unseen } = report;
    expect({ points, tried, notReached, unsteady, unseen }).toEqual({
      points: 2 * crossings,
      tried: [{ faults: 1, run: histories, of: histories }],
      notReached: [],
      unsteady: [],
      unseen: [],
    });
    expect([run.processes(), run.files()]).toEqual([[], []]);
  });

  test("no database is left", async ({ expect }) => {
    expect(await copiesIn(server)).toEqual([]);
  });
});
