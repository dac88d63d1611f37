import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };

const root = fileURLToPath(new URL("..", import.meta.url));

const edge = ["workerd", "worker", "browser", "import"];

/** The core as bundled for a platform: all of it, or only the parts that these exports use. */
async function bundled(used?: string, conditionNames = edge, entry = "main"): Promise<string> {
  const bundle = await rolldown({
    input: used ? "used" : `${root}dist/${entry}.js`,
    plugins: [
      {
        name: "used",
        resolveId: (id) => (id === "used" ? id : undefined),
        load: (id) => (id === "used" ? `export { ${used} } from "${root}dist/main.js"` : undefined),
      },
    ],
    resolve: { conditionNames },
    platform: conditionNames === edge ? "browser" : "node",
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  expect(output).toHaveLength(1);
  return output[0].code;
}

// Only lower these limits, or add the reason here.
test.each([
  // The parts of the bundle and their bytes. Measured as a difference: schemas, parking, `forget`, `drain` and
  // `onStoreError` 819; stages that run synchronously where possible, which saves a third of the time, 339.
  // Measured by leaving each out: a reader with one growing buffer 194; stored deliveries as JSON 163; releases
  // of claims without a result 133; errors with their causes and without control characters 89; limited lines
  // 81; `resume` 76; secrets compared by value 62; results of `eventId` and `eventType` that are reported 61;
  // refused wrong secrets 58; refused iterators 43; branded errors 39; one store in two unnamed receivers 38;
  // refusals while draining 35. Error texts in whole sentences cost 120; slices in the JSON form, calls that
  // are not repeated to a store that hangs, and wiped keys 220.
  // The link to the page of configuration errors costs 45, a `RetryError` that explains itself 61, checks for
  // other packages 43, paths of options and ids of listed keys 80. Texts for Node only save 300. Lines for
  // every refusal, with levels, fields and counts, cost 1,000 (1,780 on Node, with their texts).
  // Lines for long runs, taken over runs and two subscriptions, and `logProcessed`, cost 228, and 240 more on
  // Node.
  // Descriptions of the keys that did not match cost 76, and 270 more on Node, with their fingerprints.
  // Refused placeholders and quotes of secrets cost 47, and their texts 48 more on Node. Placeholders in capitals,
  // `changeme` and the like, masked keys and names of variables that nothing replaced cost 48, and their texts 47
  // more on Node: such a key is public.
  // Schemes of other senders cost 462. Measured by leaving each out: the notice 32; `reply` 28; two codes 23; the
  // check of the option 9; headers of types that `forget` does not have 7; the unsigned event id 6; stored headers,
  // the default of `handlerTimeoutMs` and `eventTypes` 5 each; defaults of `eventType` and `eventId` 7; exact digits
  // 14; codes and ids of schemes in JavaScript that are checked 25; an `inspect` that rejects, hints and bodies of 204 3 each. The rest imports keys, inspects, identifies, and
  // checks delivery ids in two stages.
  // Handlers that run from a queue cost 385: the branch, its outcomes and their levels 200; jobs that were stored
  // under another key 50; `maxConcurrent` 85; the errors of a run for the caller of `resume` 20; `maxRuns` without
  // `onParked` 22; parked events that are not dropped 8. The fix for a job that was stored under another key costs 25,
  // and the refusal of a receiver that accepts more than its queue stores 13.
  // `peek` costs 226. Measured by leaving each out: checks of the store's reply 46; the memory store 42; batches 18;
  // targets that are not a list 14. The rest finds keys and calls the store; 12 separate it from `forget`. Its texts cost
  // 129 more on Node.
  // `around` costs 180: its row and call 24; 46 refuse a handler that calls `run` itself; 5 start a query of a query builder only once; the rest runs the handler once,
  // never after `around` has ended, and ends the run when both have settled, so that a missing `return` acknowledges no
  // event that was not handled.
  // 54 give the timeout of `peek` and `forget` a code and its fix. The error that a waiting store has ready for its
  // deadline costs 4, and a late call of `run` that does nothing 5.
  // The last attempt of an event in a queue costs 25: a failure parks it, or it is parked without a run. Resumed events
  // that do not count for `maxConcurrent` cost 20. Errors that throw when their code is read cost 14.
  // Headers that are numbers, booleans or null, no headers, and encodings that compress nothing cost 36: bridges of
  // serverless platforms pass the first two, and some senders cannot be changed. The exported `systemClock` costs 13. The field
  // `details` of a line costs 10: whoever reads it, such as a tool that explains a request, need not parse the text.
  // 22 let the rings of the memory store know their state, so that a function of its own moves a record.
  // `TransactionLostError`, which the stores shared by name only, costs 20.
  // The pipeline that waits only for promises costs 960: the driver 380, an outcome without a spread 100, steps that are functions instead of closures
  // the rest.
  // `drain` that refuses deliveries afterwards too costs 16: the server of NestJS still listens then.
  // An intake and a guard cost 1,130: the stage that takes an event from a call 390, the scheme that names its source 190,
  // lists 390, and 37 in every receiver, for the `source` of deliveries and lines, and for stages that can be replaced.
  // Requests that set up an endpoint cost 117: the response to a GET request 45, that to an unsigned POST request 45, and
  // lines about them, of which anyone can send the requests, 27.
  ["everything for a worker", undefined, 15_022, edge],
  ["a receiver for a worker", "createReceiver", 13_182, edge],
  ["a receiver and an intake for a worker", "createReceiver, createIntake", 14_282, edge],
  ["a receiver and a guard for a worker", "createReceiver, createGuard", 13_902, edge],
  // Branded errors and the refusal of wrong secrets cost 142 bytes, lists of plain keys and the link 90, and
  // refused placeholders 43 and 48 more as above, refused API keys 7, keys of schemes 42, exact digits 15.
  ["sign and verify alone for a worker", "sign, verify", 1_635, edge],
  // Explanations of configuration errors cost 1,850 bytes, and the cause and fix of each outcome in whole
  // sentences 680 more than one sentence for both; record keys that do not retain all digits of their
  // hash 8. The texts of schemes cost 480. Causes and fixes that name their subject cost
  // 77, and those that state no more than the receiver knows 60. The outcomes of queues and of `maxConcurrent`
  // cost 75 more than on a worker, the refusal as above 15, and the code of a timeout as above 53.
  // The text that names `reveal()` of a masked secret costs 19: the client returns one, so many pass
  // it unchanged. A late call of `run` that does nothing costs 13, with the text of its error.
  // The texts for `retry` of an inbox and a query that are no objects cost 8, and the exported `systemClock` 11.
  // The pipeline as above 976, and a result whose `next` throws 6. The field `details` as above 10, the rings 36, `TransactionLostError` 14.
  // A final `drain` as above 9. An intake and a guard as above 1,130, and their texts 710.
  // Requests that set up an endpoint as above 127.
  ["everything for Node", undefined, 20_595, ["node", "import"]],
])("%s is small, minified and gzipped", async (_what, used, limit, conditions) => {
  const { length } = gzipSync(await bundled(used, conditions), { level: 9 });
  expect(length).toBeLessThanOrEqual(limit);
});

test("the inbox is small, minified and gzipped", async () => {
  const { length } = gzipSync(await bundled(undefined, edge, "inbox"), { level: 9 });
  // 32 bytes replace characters in types that PostgreSQL does not store. 232 refuse a receiver that accepts larger
  // bodies than the queue stores, and an unknown option; the checks are also in the receiver. 90 pass the trace context
  // of the span that stored a job to its runs. 270 end a delivery only when both `around` and the
  // queue have stored it; the receiver has this code too. 564 are what the engines had each for itself: the check of
  // `retry` and its delays, texts of errors, errors once per minute, and the number of an attempt. 156 check the options of `runJob`, and limit what differs in
  // numbers and ids to one error per minute.
  expect(length).toBeLessThanOrEqual(2_970);
});

test("the helpers of engines are small, minified and gzipped", async () => {
  const { length } = gzipSync(await bundled(undefined, edge, "engine"), { level: 9 });
  // Nearly half are texts of errors, and 380 the checks and classes that an app with a receiver has already. 42 read
  // where an event comes from.
  // The checks of the options that engines share, with those of retries, cost 614, and the loop of a worker 559.
  expect(length).toBeLessThanOrEqual(2_939);
});

test("reconcile is small, minified and gzipped", async () => {
  const { length } = gzipSync(await bundled(undefined, edge, "reconcile"), { level: 9 });
  // Measured by leaving each out: the classes of errors, which an app with a receiver has already, 211; checks of listed
  // deliveries and of their order 145; the fields of the report 65; checks of options 63. 260 more find repeated
  // deliveries, times without an offset, refused requests, and jobs that a queue has lost after a run. 302 more refuse
  // unknown options, with the check that an app with a receiver has already, and something else than a receiver, and
  // explain that the receiver needs the bodies. 181 more refuse what would end in a false report or in an error without a
  // code, measured by leaving each out: a list that is not one 39, times that are objects or in another order 39, a clock
  // without `now` 30, options that are not functions 27, a store as the receiver 9, numbers as text 6, a `since` in the
  // future 5, and an item that is null 5. 70 count lists whose pages repeat more deliveries than are remembered, without
  // skipping those of a list in another order; 45 name a clock that is behind, and 25 read leap seconds. 2 accept
  // lists of a sender whose clock is behind. 14 keep the comparison apart from the walk.
  expect(length).toBeLessThanOrEqual(2_207);
});

test("the bundle for a worker contains nothing of Node and no explanations", async () => {
  const code = await bundled();
  expect(code).not.toContain("environment variable");
  expect(code).not.toMatch(/node:|\bBuffer\b|\bprocess\.|\brequire\b/);
});

test.each(["js", "cjs"])("Node loads the core as one module (.%s)", (extension) => {
  const code = readFileSync(`${root}dist/main.node.${extension}`, "utf8");
  const imported = code.matchAll(/^(?:import .+ from |let .+ = require\()"([^"]+)"/gm);
  expect(Array.from(imported, ([, id]) => id)).toEqual(["node:crypto"]);
  expect(JSON.stringify(manifest.exports["."])).toContain(`"./dist/main.node.${extension}"`);
});

test("only the Node HMAC imports from Node", () => {
  const sources = readdirSync(`${root}src`, { recursive: true, encoding: "utf8" });
  const importing = sources
    .filter((file) => file.endsWith(".ts"))
    .filter((file) => /^\S.* from "node:/m.test(readFileSync(`${root}src/${file}`, "utf8")));
  expect(importing).toEqual(["crypto/hmac-node.ts"]);
});

test("the core has no dependencies", () => {
  expect(manifest).not.toHaveProperty("dependencies");
  expect(manifest).not.toHaveProperty("peerDependencies");
  expect(manifest).not.toHaveProperty("optionalDependencies");
});
