import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "@svc-webhooks/kit/free-port";
import { outsideDirectory, root } from "@svc-webhooks/kit/programs";
import { testPosix } from "@svc-webhooks/kit/systems";
import { until } from "@svc-webhooks/kit/until";
import { codeOf } from "@svc-webhooks/kit/web";
import { senders } from "@svc-webhooks/schemes/senders";
import { signedDelivery } from "@svc-webhooks/testing";
import { expect, test } from "vitest";
import { start } from "../../tools/cli/test/support.js";
import { shownOutput, stripeApp, textOf } from "./readme.js";

/** Returns a pattern for a line with any ids and numbers. */
function patternOf(line: string): RegExp {
  const text = line.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  const anyIds = text.replaceAll(/(msg|dlv)_\w+/g, String.raw`$1_\w+`);
  return new RegExp(`^${anyIds.replaceAll(/\d+/g, String.raw`\d+`)}$`, "m");
}

testPosix("README's first command prints the lines that README shows", async () => {
  const [, app] = /^npx svc-webhooks dev -- (.+)$/m.exec(textOf("README.md")) ?? [];
  expect(app).toBe("node examples/quick-start/app.mjs");
  const to = `http://localhost:${await freePort()}/webhooks`;
  const words = ["dev", "--sandbox-port=0", "--to", to, "--", ...(app ?? "").split(" ")];
  const { shows, interrupt, output } = start(words, { PORT: undefined });
  const patterns = shownOutput.map(patternOf);
  await shows(patterns.at(-1) ?? /never/);
  const printed = output.stdout + output.stderr;
  expect(patterns.filter((pattern) => !pattern.test(printed))).toEqual([]);
  expect(await interrupt()).toBe(130);
});

test("the lines that README shows for Stripe make its first example accept Stripe's webhooks, and no others", async () => {
  const folder = outsideDirectory();
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
  const app = join(folder, "app.mjs");
  writeFileSync(app, stripeApp().code);
  const secret = "whsec_test";
  const port = await freePort();
  const { child, output } = start([], { PORT: String(port), SVC_WEBHOOK_SECRET: secret }, app);
  const url = `http://127.0.0.1:${port}/webhooks`;
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`README's app ended:\n${output.stderr}`);
    return fetch(url).then(
      () => true,
      () => false,
    );
  }, "README's app listens");

  const body = JSON.stringify({ id: "evt_1", type: "invoice.paid" });
  const signed = await senders.stripe.sign(body, { secret });
  const stripes = await fetch(url, { method: "POST", headers: signed, body });
  expect(await codeOf(stripes)).toBe("ignored");
  const others = await fetch(url, await signedDelivery({ type: "email.delivered" }, { secret }));
  expect(await codeOf(others)).toBe("signature_missing");
});
