import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { outsideDirectory, root, run } from "@svc-webhooks/kit/programs";
import { expect, test } from "vitest";
import { key, valid } from "../../packages/sandbox/test/certificates.js";

const bun = createRequire(import.meta.url).resolve("bun/bin/bun.exe");
const file = "./test/contracts/runners/receiver.test.mjs";

/** The environment in which receivers serve `https:`, and their certificate is trusted. */
function tls(): NodeJS.ProcessEnv {
  const certificate = join(outsideDirectory(), "certificate.pem");
  writeFileSync(certificate, valid);
  return { TLS_KEY: key, TLS_CERTIFICATE: valid, NODE_EXTRA_CA_CERTS: certificate };
}

const node = [process.execPath, "--test", file] as const;

// Twice 39 cases. By URL, those that need the handler are skipped.
test.each([
  { runner: "node:test", command: node, env: {}, counts: /pass 69\n.*fail 0\n[^]*skipped 9\n/ },
  { runner: "node:test over TLS", command: node, env: tls(), counts: /pass 69\n.*fail 0\n/ },
  { runner: "Bun", command: [bun, "test", file], env: {}, counts: /69 pass\n +9 skip\n +0 fail/ },
])("the contract of receivers runs in $runner", async ({ command, env, counts }) => {
  const [program = "", ...args] = command;
  const { exitCode, stdout, stderr } = await run(program, args, { cwd: root, env });
  expect(stdout + stderr).toMatch(counts);
  expect(exitCode).toBe(0);
});
