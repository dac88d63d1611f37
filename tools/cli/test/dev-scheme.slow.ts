import { senders, type SenderName } from "@svc-webhooks/schemes/senders";
import { freePort } from "@svc-webhooks/kit/free-port";
import { root } from "@svc-webhooks/kit/programs";
import { sized } from "@svc-webhooks/kit/sized";
import { testPosix } from "@svc-webhooks/kit/systems";
import { describe, expect, test } from "vitest";
import { join } from "node:path";
import { cli, start } from "./support.js";

/** Returns an app with a receiver of a sender, as a program. */
const appOf = (name: SenderName, secret = `process.env.${senders[name].secretVariable}`) => [
  process.execPath,
  "--eval",
  `
  const { createRequire } = require("node:module");
  const from = createRequire(${JSON.stringify(join(root, "packages/node/package.json"))});
  const { createReceiver } = from("@svc-webhooks/core");
  const { webhooks } = from("@svc-webhooks/node");
  const { senders } = from("@svc-webhooks/schemes/senders");
  const receiver = createReceiver({
    scheme: senders["${name}"].scheme,
    secret: ${secret},
    on: { "*": ({ type }) => console.log("handled", type) },
  });
  require("node:http").createServer(webhooks(receiver)).listen(process.env.PORT);`,
];

async function develop(app: readonly string[], options: readonly string[]) {
  const to = `http://localhost:${await freePort()}/webhooks`;
  return start(["dev", "--to", to, ...options, "--", ...app], { PORT: undefined });
}

describe("dev with a scheme", () => {
  const all = Object.keys(senders) as readonly SenderName[];
  testPosix.each(sized(["stripe", "discord", "sendgrid"] as const, all))(
    "sends a signed sample of %s, which the app handles",
    async (name) => {
      const { secretVariable, type } = senders[name];
      const { shows, output, interrupt } = await develop(appOf(name), ["--scheme", name]);
      await shows(/\n20[04].*\n/);
      // The sample of a list is one event of type \`events\`.
      await shows(new RegExp(`^handled (${type}|events)$`, "m"));
      expect(output.stdout).toMatch(
        new RegExp(String.raw`\nsecret {2}${secretVariable}, fingerprint [\da-f]{8}\n`),
      );
      expect(await interrupt()).toBe(130);
    },
  );

  testPosix("says which variable has the secret if the app refuses the sample", async () => {
    const { shows, output, interrupt } = await develop(appOf("stripe", '"whsec_another"'), [
      "--scheme=stripe",
    ]);
    await shows(/401 signature_mismatch .+\n.+\n/);
    expect(output.stdout).toContain("Read the secret from STRIPE_WEBHOOK_SECRET, which this");
    expect(await interrupt()).toBe(130);
  });

  testPosix("uses the given variable and type, and ends with the app", async () => {
    const app = appOf("github", "process.env.HOOK").map((part) =>
      part.replace('console.log("handled", type)', "process.exit(type.length)"),
    );
    const { ended } = await develop(app, [
      "--scheme=github",
      "--secret-env=HOOK",
      "--type=issues.opened",
    ]);
    const { code, stderr } = await ended;
    expect(stderr).toContain(`Your app ended with exit code ${"issues.opened".length}.`);
    expect(code).toBe(1);
  });

  test.each([
    [["--scheme=stripe", "--open"], "--open is for the service's sandbox"],
    [["--scheme=stripe", "--base-url=http://localhost:1"], "--base-url is for the service's"],
    [["--secret-env=A"], "--secret-env needs --scheme."],
    [["--type=a"], "--type needs --scheme."],
    [["--scheme=strip"], "stripe"],
  ] as const)("refuses %j", async (options, text) => {
    const to = `--to=http://localhost:${await freePort()}`;
    const { code, stderr } = await cli(["dev", to, ...options, "--", "true"]);
    expect(stderr).toContain(text);
    expect(code).toBe(2);
  });
});
