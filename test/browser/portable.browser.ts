import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { json } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { AddressInfo } from "node:net";
import { gate } from "@svc-webhooks/kit/gate";
import { bundled } from "@svc-webhooks/kit/launch";
import { expect, onTestFinished, test } from "vitest";

test("the core and signed requests work in Chromium as in every other runtime", async () => {
  const script = await bundled(fileURLToPath(new URL("page.ts", import.meta.url)), "browser");
  const { opened: result, open } = gate<unknown>();
  const server = createServer((request, response) => {
    if (request.url === "/result") void json(request).then(open);
    response.setHeader("content-type", "text/html");
    response.end(`<script type="module">${script}</script>`);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;

  const profile = mkdtempSync(`${tmpdir()}/svc-webhooks-browser-`);
  // Its sandbox needs rights that containers do not have, and the page is ours.
  const options = ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${profile}`];
  const browser = spawn("chromium", [...options, `http://127.0.0.1:${port}/`], { stdio: "ignore" });
  const exited = once(browser, "exit");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    browser.kill("SIGKILL");
    await exited.catch(() => {});
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });
  expect(await Promise.race([result, exited])).toEqual({ status: 200, failures: [] });
});
