import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { outsideDirectory, root, run } from "@svc-webhooks/kit/programs";
import { receiverContract } from "@svc-webhooks/testing/receiver";
import { expect, test } from "vitest";
import { key, valid } from "../../tools/sandbox/test/network/certificates.js";
import { casesOf } from "./contract-cases.js";

const bun = createRequire(import.meta.url).resolve("bun/bin/bun.exe");
const file = "./test/contracts/runners/receiver.test.mjs";

/** Returns environment variables that make receivers serve `https:` with a certificate that the test runner trusts. */
function tls(): NodeJS.ProcessEnv {
  const certificate = join(outsideDirectory(), "certificate.pem");
  writeFileSync(certificate, valid);
  return { TLS_KEY: key, TLS_CERTIFICATE: valid, NODE_EXTRA_CA_CERTS: certificate };
}

const node = [process.execPath, "--test", file] as const;

// The file registers the contract twice. Where it gives a URL, the cases that need the handler are skipped.
const byUrl = casesOf((runner) => receiverContract(runner, "a receiver", "http://127.0.0.1:1"));
const skipped = byUrl.filter(({ title }) => title.endsWith("(skipped: it needs mount)")).length;
const passed = 2 * byUrl.length - skipped;
const inNode = new RegExp(`pass ${passed}\n.*fail 0\n[^]*skipped ${skipped}\n`);
const inBun = new RegExp(`${passed} pass\n +${skipped} skip\n +0 fail`);

test.each([
  { runner: "node:test", command: node, env: {}, counts: inNode },
  { runner: "node:test over TLS", command: node, env: tls(), counts: inNode },
  { runner: "Bun", command: [bun, "test", "--timeout", "600000", file], env: {}, counts: inBun },
])("the contract of receivers runs in $runner", async ({ command, env, counts }) => {
  const [program = "", ...args] = command;
  const { exitCode, stdout, stderr } = await run(program, args, { cwd: root, env });
  expect(stdout + stderr).toMatch(counts);
  expect(exitCode).toBe(0);
});
