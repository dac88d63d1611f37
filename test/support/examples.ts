import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { signedDelivery } from "@svc-webhooks/testing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Served } from "../runtimes/launch.js";
import { run } from "./package-tools.js";

/** What the examples' READMEs set `SVC_WEBHOOK_SECRET` to. */
export const exampleSecret = "whsec_example";

/** The event of their READMEs. */
export const exampleEvent = { type: "email.delivered", data: { email_id: "msg_1" } };

/** What becomes of a delivery, of its copy and of a forged one. */
export async function answersOf(url: string): Promise<readonly unknown[]> {
  const genuine = await signedDelivery(exampleEvent, { secret: exampleSecret });
  const forged = await signedDelivery(exampleEvent, { secret: "whsec_wrong" });
  const answers: unknown[] = [];
  for (const delivery of [genuine, genuine, forged]) {
    const response = await fetch(url, delivery);
    answers.push([response.status, await response.json()]);
  }
  return answers;
}

export const expectedAnswers = [
  [200, { status: "processed" }],
  [200, { status: "duplicate" }],
  [401, { error: { code: "signature_mismatch", message: "signature mismatch" } }],
];

/** Serves an example as its README says, and asks it at `path` what every example is asked. */
export function testExample(
  folder: string,
  path: string,
  serve: () => Promise<Served>,
  patienceMs: number,
): void {
  let served: Served;
  beforeAll(async () => {
    // For the server: what builds an app takes it away again.
    vi.stubEnv("SVC_WEBHOOK_SECRET", exampleSecret);
    served = await serve();
  }, patienceMs);
  afterAll(() => served?.close());

  test("a delivery is processed once, a forged one not at all", async () => {
    expect(await answersOf(`${served.origin}${path}`)).toEqual(expectedAnswers);
  });

  testReadmeCurl(folder, () => served.origin);
}

const missing = ["bash", "curl", "openssl"].filter((tool) => spawnSync(tool, ["--version"]).error);

/** Runs the block of an example's README that signs and sends, against where it is served now. */
export function testReadmeCurl(folder: string, origin: () => string | Promise<string>): void {
  // On a laptop without the tools this is a named skip; in CI it fails.
  test.skipIf(missing.length > 0 && !process.env["CI"])(
    "the README's curl is accepted",
    async () => {
      const readme = readFileSync(`${folder}README.md`, "utf8");
      const block = /```bash\n([^]*?)```/.exec(readme)?.[1] ?? "";
      const command = block.replace(/http:\/\/localhost:\d+/, await origin());
      expect(await run("bash", ["-c", command], { cwd: folder })).toMatchObject({
        stdout: '{"status":"processed"} 200\n',
      });
    },
  );
}
