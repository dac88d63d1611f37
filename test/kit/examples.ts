import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { signedDelivery } from "@svc-webhooks/testing";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { Served } from "./launch.js";
import { run } from "./programs.js";
import { testRequiring } from "./requiring.js";
import { codeOf } from "./web.js";

/** The value of `SVC_WEBHOOK_SECRET` in the examples' READMEs. */
export const exampleSecret = "whsec_example";

/** The event in the examples' READMEs. */
export const exampleEvent = { type: "email.delivered", data: { email_id: "msg_1" } };

/** Returns the responses to a delivery, its copy and a forged delivery. */
export async function responsesOf(url: string): Promise<readonly unknown[]> {
  const genuine = await signedDelivery(exampleEvent, { secret: exampleSecret });
  const forged = await signedDelivery(exampleEvent, { secret: "whsec_wrong" });
  const responses: unknown[] = [];
  for (const delivery of [genuine, genuine, forged]) {
    const response = await fetch(url, delivery);
    responses.push([response.status, await codeOf(response)]);
  }
  return responses;
}

export const expectedResponses = [
  [200, "processed"],
  [200, "duplicate"],
  [401, "signature_mismatch"],
];

/**
 * Starts an example as `npm start` does, on a free port, until the test ends.
 *
 * @param program the path of its program in the folder, which prints `Listening on` and its origin
 */
export async function startExample(folder: string, program: string) {
  const child = spawn(process.execPath, [program], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, SVC_WEBHOOK_SECRET: exampleSecret, PORT: "0" },
  });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const lines: string[] = [];
  const output = createInterface(child.stdout).on("line", (line) => lines.push(line));
  /** Resolves once all lines are known. */
  const ended = once(output, "close");
  const printed = async (text: string) => {
    for (;;) {
      const match = lines.find((line) => line.startsWith(text));
      if (match !== undefined) return match;
      await once(output, "line");
    }
  };
  const port = Number((await printed("Listening on")).split(":").at(-1));
  return { child, exited, ended, lines, printed, port, origin: `http://127.0.0.1:${port}` };
}

/** Serves an example as its README describes, and runs the tests of all examples at `path`. */
export function testExample(folder: string, path: string, serve: () => Promise<Served>): void {
  let served: Served;
  beforeAll(async () => {
    // The secret is set for the server: the build of an app unsets it.
    vi.stubEnv("SVC_WEBHOOK_SECRET", exampleSecret);
    served = await serve();
  });
  afterAll(() => served?.close());

  test("a delivery is processed once, and a forged one is not processed", async () => {
    expect(await responsesOf(`${served.origin}${path}`)).toEqual(expectedResponses);
  });

  testReadmeCurl(folder, () => served.origin);
}

const missing = ["bash", "curl", "openssl"].filter((tool) => spawnSync(tool, ["--version"]).error);

/** Runs the README's block that signs and sends a delivery, against the running server. */
export function testReadmeCurl(folder: string, origin: () => string | Promise<string>): void {
  testRequiring(missing.join(" and "), missing.length === 0)(
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
