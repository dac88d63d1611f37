import { once } from "node:events";
import { createInterface } from "node:readline";
import { freePort } from "@svc-webhooks/kit/free-port";
import { startModule } from "@svc-webhooks/kit/programs";
import { expect, test } from "vitest";
import { formOf, openPage, rawText, the } from "./support.js";

test("the receiver that the page offers receives the events of a test email", async () => {
  const { get, submit, follow, clock } = await openPage();
  const port = await freePort();
  const start = await get();
  const created = await submit(start, formOf(start, "create-endpoint", { place: "steps" }), {
    url: `http://127.0.0.1:${port}/webhooks`,
  });
  const secret = rawText(the(created.dom, "#secret code.whole"));
  const code = rawText(the(created.dom, "[aria-label=receiver.mjs]"));

  const child = startModule(
    `process.env.SVC_WEBHOOK_SECRET = ${JSON.stringify(secret)};\n${code.replace("3000", `${port}, "127.0.0.1", () => process.send("listening")`)}`,
  );
  await once(child, "message");
  const printed = createInterface({ input: child.stdout });
  const lines: string[] = [];
  printed.on("line", (line) => lines.push(line));

  const sent = await submit(created, formOf(created, "test-email"));
  expect(rawText(the((await follow(sent)).dom, "#h-detail"))).toBe("Test email");
  await clock.advance(1_000);
  const succeeded = await get("/?state=succeeded");
  expect(rawText(the(succeeded.dom, "#states [data-count=succeeded]"))).toBe("2");
  await expect.poll(() => lines).toEqual(["email.sent", "email.delivered"]);
});
