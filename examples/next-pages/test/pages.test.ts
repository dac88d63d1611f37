import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { signedDelivery } from "@svc-webhooks/testing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { nextDev, type Served } from "../../../test/runtimes/launch.js";
import { run } from "../../../test/support/package-tools.js";

const folder = fileURLToPath(new URL("..", import.meta.url));
const secret = "whsec_example";
const event = { type: "email.delivered", data: { email_id: "msg_1" } };

let served: Served;
beforeAll(async () => {
  vi.stubEnv("SVC_WEBHOOK_SECRET", secret);
  served = await nextDev(folder);
}, 120_000);
afterAll(() => served?.close());

test("a delivery is processed once, a forged one not at all", async () => {
  const post = async (delivery: RequestInit) => {
    const response = await fetch(`${served.origin}/api/webhooks`, delivery);
    return [response.status, await response.json()];
  };

  const genuine = await signedDelivery(event, { secret });
  expect(await post(genuine)).toEqual([200, { status: "processed" }]);
  expect(await post(genuine)).toEqual([200, { status: "duplicate" }]);
  expect(await post(await signedDelivery(event, { secret: "whsec_wrong" }))).toMatchObject([
    401,
    { error: { code: "signature_mismatch" } },
  ]);
});

const tools = ["bash", "curl", "openssl"];
const missing = tools.filter((tool) => spawnSync(tool, ["--version"]).error);

// On a laptop without them this is a named skip; in CI it fails.
test.skipIf(missing.length > 0 && !process.env["CI"])("the README's curl is accepted", async () => {
  const readme = readFileSync(`${folder}README.md`, "utf8");
  const block = /```bash\n([^]*?)```/.exec(readme)?.[1] ?? "";
  const command = block.replace("http://localhost:3000", served.origin);
  expect(await run("bash", ["-c", command], { cwd: folder })).toMatchObject({
    stdout: '{"status":"processed"} 200\n',
  });
});
