import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { deployedChunk } from "@svc-webhooks/kit/workers";

test("core, Hono adapter and store take 15 kB and use nothing of Node", async () => {
  const user = fileURLToPath(new URL("user.ts", import.meta.url));
  const { code } = await deployedChunk(user, /^(?:hono|cloudflare:workers)$/);
  // Lower this limit when possible; raising it needs a reason here. A clock that is set back, which shortens
  // leases and retentions, costs 67 B. Above 9,091, nearly all bytes are the core's, listed in
  // packages/core/test/size.test.ts. The states of records for `peek`, one call for each shard, cost 205 B; checks of the
  // store's options and the adapter's argument cost 60 B. A peek that sets up no namespace costs 6 B. The last attempt of a
  // queued event costs 38 B, and headers that are not text 40 B, as in the core. The rules that all stores share cost 123 B,
  // because they also compute what a single object could take for granted. The field `details` of a line costs 9 B, as in the core, and
  // the pipeline that waits only for promises 971 B, and a final `drain` 9 B. Sources of events
  // and stages that can be replaced cost 33 B. Requests that set up an endpoint cost 140 B, of which 9 are in the Hono adapter.
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(15_390);
  expect(code).not.toMatch(/node:|\bBuffer\b|\bprocess\.|\brequire\b/);
});
