import { once } from "node:events";
import { createServer as createPlain } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { expired, key, valid } from "../../sandbox/test/network/certificates.js";
import { cli, json, newFile } from "./support.js";

/** Starts a server with a certificate, or without TLS. Returns its URL. */
async function receiver(cert: string | undefined): Promise<string> {
  const server = cert === undefined ? createPlain() : createServer({ key, cert });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `https://localhost:${(server.address() as AddressInfo).port}/`;
}

function capture(): string {
  const file = newFile();
  const request = { at: "2026-01-01T00:00:00.000Z", method: "POST", path: "/", headers: [] };
  writeFileSync(file, JSON.stringify({ ...request, body: "", verdict: "genuine" }));
  return file;
}

test.each([
  ["a self-signed certificate", valid, /^The certificate is self-signed\. To trust it, start this/],
  ["an expired certificate", expired, /^The certificate (?:is self-signed|has expired)\./],
  [
    "a server without TLS",
    undefined,
    /^(?:The receiver does not use TLS on this port|.+ during the TLS handshake)\./,
  ],
])("%s is named", async (_what, cert, text) => {
  const url = await receiver(cert);
  const diagnosis = await json(["doctor", url, "--secret-env=SECRET"]);
  const findings = diagnosis.value["findings"] as readonly unknown[];
  expect(findings).toEqual([
    expect.objectContaining({ id: "tls", cause: expect.stringMatching(text) }),
  ]);
  expect(diagnosis.code).toBe(1);

  const { stderr } = await cli(["event-types", "list", "--base-url", url]);
  expect(stderr).toMatch(new RegExp(text.source.slice(1)));
});

test("replay names a certificate that is not trusted", async () => {
  const { stdout } = await cli(["replay", capture(), "--to", await receiver(valid)]);
  expect(stdout).toContain("The certificate is self-signed.");
});
