import { createClient } from "@svc-webhooks/client";
import { createSandbox } from "@svc-webhooks/sandbox";
import { postgresServer } from "@svc-webhooks/kit/postgres-server";
import { redisServer } from "@svc-webhooks/kit/redis-server";
import { eachNth } from "@svc-webhooks/kit/sized";
import { afterAll, expect, test } from "vitest";
import {
  codeBlocks,
  compileBlocks,
  isInstalledHere,
  pagesAndSources,
  type CodeBlock,
} from "./readme.js";

/**
 * Returns whether a block runs on Node: `svc-webhooks/cloudflare` imports `cloudflare:workers`, which only
 * Workers have.
 */
const runsHere = ({ code }: CodeBlock) => !code.includes('"svc-webhooks/cloudflare"');

/** The test that fails, as its page shows. `test/crash-tests/first-report.slow.ts` runs it. */
const failing = "docs/crash-test.md block 1";

const all = pagesAndSources
  .flatMap(codeBlocks)
  .filter(isInstalledHere)
  .filter(runsHere)
  .filter(({ name }) => name !== failing);
// Each block is a process. `npm test` compiles all of them.
const blocks = eachNth(all, 6);
const { run } = await compileBlocks(blocks);

/** The service that the blocks call, with a failed delivery. */
const sandbox = createSandbox({ assumptions: { "A-06": "allow", "A-09": "none" } });
afterAll(() => sandbox.close());
// A queue that is checked needs a server that persists its jobs.
const redis = await redisServer(["--save", "", "--appendonly", "yes"]);
const postgres = await postgresServer();
afterAll(() => Promise.all([redis.close(), postgres.close()]));
const env = {
  SVC_API_KEY: "svc_test",
  SVC_BASE_URL: (await sandbox.listen(0)).url,
  REDIS_URL: `redis://127.0.0.1:${redis.port}`,
  DATABASE_URL: postgres.connectionString,
};
const { domains, webhookEndpoints } = createClient({
  apiKey: env.SVC_API_KEY,
  baseUrl: env.SVC_BASE_URL,
});
const { webhook_endpoint: endpoint } = await webhookEndpoints.create({
  url: "http://127.0.0.1:9/webhooks",
  event_types: ["domain.updated"],
});
await domains.verify((await domains.create({ domain_name: "example.test" })).domain_id);

/** Returns whether a line is logged by a receiver, which logs each delivery that it refuses. */
const isLogged = (line: string) => line.startsWith("svc-webhooks ");

const showsTests = ({ file }: CodeBlock) =>
  file.startsWith("tools/testing/") ||
  /^docs\/(?:test-your-handler|crash-test|crash-test-reference)\.md$/.test(file);

test.each(blocks)("$name runs without an error", async (block) => {
  const { exitCode, stdout, stderr } = await run(block, {
    ...env,
    ENDPOINT_ID: endpoint.webhook_endpoint_id,
  });
  const others = stderr.split("\n").filter((line) => !isLogged(line));
  expect({ exitCode, others }).toEqual({ exitCode: 0, others: [""] });
  // Readers copy examples of tests into their own, where the line of a refused delivery would resemble a
  // failure.
  const logged = `${stdout}\n${stderr}`.split("\n").filter(isLogged);
  if (showsTests(block)) expect(logged).toEqual([]);
});
