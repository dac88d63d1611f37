import { createClient } from "@svc-webhooks/client";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { freePort } from "@svc-webhooks/kit/free-port";
import { expect, test } from "vitest";
import { start } from "./support.js";

const idIn = (text: string) => /registered as (\S+)/.exec(text)?.[1] ?? "";

async function listening(service: string, port = 0) {
  const started = start(["listen", `--port=${port}`], { SVC_BASE_URL: service });
  await started.shows(/Fingerprint/);
  return { ...started, id: idIn(started.output.stdout) };
}

test.each([
  ["was reset", (url: string) => fetch(`${url}/_sandbox/reset`, { method: "POST" })],
  [
    "has archived the endpoint",
    (baseUrl: string, id: string) =>
      createClient({ baseUrl, apiKey: "svc_test" }).webhookEndpoints.archive(id),
  ],
])("listen ends if the sandbox %s", async (_what, lose) => {
  const { url } = await openSandbox({ clock: "real" });
  const { id, ended } = await listening(url);
  await lose(url, id);
  const { code, stderr } = await ended;
  expect(code).toBe(1);
  expect(stderr).toContain(`The sandbox no longer has ${id}, so nothing would arrive.`);
  expect(stderr).toContain("Start this command again.");
});

test("listen names the endpoint that a killed command left", async () => {
  const { url } = await openSandbox({ clock: "real" });
  const port = await freePort();
  const first = await listening(url, port);
  first.child.kill("SIGKILL");
  await first.ended;
  const second = await listening(url, port);
  await second.shows(
    new RegExp(`${first.id} has the same URL, .+ archive ${first.id}\\.`),
    "stderr",
  );
  expect(await second.interrupt()).toBe(130);
});
