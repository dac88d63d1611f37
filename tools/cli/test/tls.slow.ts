import { once } from "node:events";
import { createServer as createPlain } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { writeFileSync } from "node:fs";
import { freePort } from "@svc-webhooks/kit/free-port";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import { until } from "@svc-webhooks/kit/until";
import { expect, onTestFinished, test } from "vitest";
import { clientOnly, expired, key, valid } from "../../sandbox/test/network/certificates.js";
import { ConnectionError, explainTls } from "../src/lib/tls.js";
import { deliver, listening } from "./listening.js";
import { cli, json, newFile, start } from "./support.js";

/**
 * Starts a server with a certificate, or without TLS. Returns its URL.
 *
 * @param base the scheme and the host of the URL
 */
async function receiver(
  cert: string | undefined,
  base = "https://localhost",
  options: ServerOptions = {},
): Promise<string> {
  const server = cert === undefined ? createPlain() : createServer({ key, cert, ...options });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `${base}:${(server.address() as AddressInfo).port}/`;
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
    /^(?:This port does not use TLS|.+ during the TLS handshake)\./,
  ],
])("%s is named", async (_what, cert, text) => {
  const url = await receiver(cert);
  const diagnosis = await json(["doctor", url, "--secret-env=SECRET"]);
  const findings = diagnosis.value["findings"] as readonly unknown[];
  expect(findings).toEqual([
    expect.objectContaining({ id: "tls", cause: expect.stringMatching(text) }),
  ]);
  expect(diagnosis.code).toBe(1);

  const { stderr } = await cli(["service", "event-types", "list", "--base-url", url]);
  expect(stderr).toMatch(new RegExp(text.source.slice(1)));
});

test("replay names a certificate that is not trusted", async () => {
  const { stdout } = await cli(["replay", capture(), "--to", await receiver(valid)]);
  expect(stdout).toContain("The certificate is self-signed.");
});

/** Returns the output of each command that connects to the URL. */
async function outputsOf(url: string, env: Readonly<Record<string, string>> = {}) {
  const run = async (...args: readonly string[]) => {
    const { stdout, stderr } = await start(args, env).ended;
    return stdout + stderr;
  };
  const listener = await listening(["--forward-to", url], env);
  expect((await deliver(listener.url, {})).status).toBe(502);
  await until(() => listener.received().length === 1, "the delivery is shown");
  return {
    listen: String(listener.received()[0]?.["error"]),
    replay: await run("replay", capture(), "--to", url),
    doctor: await run("doctor", url, "--secret-env=SECRET"),
    conformance: await run("conformance", url, "--secret-env=SECRET"),
    "service event-types list": await run("service", "event-types", "list", "--base-url", url),
  };
}

const inEach = (text: RegExp) =>
  Object.fromEntries(
    ["listen", "replay", "doctor", "conformance", "service event-types list"].map((command) => [
      command,
      expect.stringMatching(text),
    ]),
  );

test("each command names a certificate for another name", async () => {
  const file = newFile();
  writeFileSync(file, valid);
  const outputs = await outputsOf(await receiver(valid), { NODE_EXTRA_CA_CERTS: file });
  expect(outputs).toEqual(inEach(/The certificate is not valid for localhost\. Use/));
});

test.each<[string, string, string, ServerOptions, RegExp]>([
  [
    "a certificate that only a client may use",
    clientOnly,
    "https://localhost",
    {},
    /The certificate was refused: unsuitable certificate purpose \(INVALID_PURPOSE\)\./,
  ],
  [
    "a receiver that requires a client certificate",
    valid,
    "https://127.0.0.1",
    { requestCert: true, rejectUnauthorized: true },
    /^(?!.*TLS connection failed)(?!.*NODE_EXTRA).*The server requires a client certificate \(/s,
  ],
])("each command names %s", async (_what, cert, base, options, text) => {
  const file = newFile();
  writeFileSync(file, cert);
  const outputs = await outputsOf(await receiver(cert, base, options), {
    NODE_EXTRA_CA_CERTS: file,
  });
  expect(outputs).toEqual(inEach(text));
});

test.each([
  ["INVALID_PURPOSE", true],
  ["INVALID_CA", true],
  ["PATH_LENGTH_EXCEEDED", true],
  ["CRL_HAS_EXPIRED", true],
  ["CERT_REVOKED", true],
  ["ERROR_IN_CERT_NOT_AFTER_FIELD", true],
  ["HOSTNAME_MISMATCH", true],
  ["OUT_OF_MEM", true],
  ["UNSPECIFIED", true],
  ["ERR_SSL_WRONG_VERSION_NUMBER", true],
  ["EPROTO", true],
  ["ECONNREFUSED", false],
  ["EAI_AGAIN", false],
  ["ENOTFOUND", false],
  ["ERR_STREAM_PREMATURE_CLOSE", false],
  ["HPE_INVALID_CONSTANT", false],
  ["UND_ERR_SOCKET", false],
  ["ABORT_ERR", false],
  ["", false],
])("the code %j is one of TLS: %j", async (code, isOfTls) => {
  const error = Object.assign(new Error("why"), { code });
  const explained = await explainTls(error, new URL("https://localhost/"));
  expect(explained instanceof ConnectionError).toBe(isOfTls);
  expect(explained === error).toBe(!isOfTls);
});

test("each command names an https: URL of a port without TLS", async () => {
  expect(await outputsOf(await receiver(undefined))).toEqual(
    inEach(/(?:This port does not use TLS|during the TLS handshake)\. .+ HTTPS\./),
  );
});

test("dev and service events get print the sandbox's reason for an untrusted certificate", async () => {
  const app = newFile("app.mjs");
  const { url } = await openSandbox({ clock: "real" });
  writeFileSync(
    app,
    `import { createServer } from "node:https";
    createServer(${JSON.stringify({ key, cert: valid })}).listen(process.env.PORT);`,
  );
  const to = `https://localhost:${await freePort()}/`;
  const env = { SVC_BASE_URL: url, PORT: undefined };
  const dev = start(["dev", "--to", to, "--", process.execPath, app], env);
  const reason =
    "The certificate is self-signed. To trust it, start the sandbox with NODE_EXTRA_CA_CERTS=FILE";
  await dev.shows(/Your app did not respond: .+/);
  expect(dev.output.stdout).toContain(`Your app did not respond: ${reason}`);

  const base = ["--base-url", url];
  const { data } = (await json(["service", "events", "list", ...base])).value as {
    readonly data: readonly { readonly event_id: string; readonly last_response?: string }[];
  };
  const { event_id = "" } = data.find(({ last_response }) => last_response === "tls") ?? {};
  const { value } = await json(["service", "events", "get", event_id, ...base]);
  // The next attempts follow after 1 and 5 s.
  const [first] = value["results"] as readonly unknown[];
  expect(first).toEqual({
    n: 1,
    started_at: expect.any(String),
    result: "tls",
    ms: expect.any(Number),
    reason: expect.stringContaining(reason),
  });
  const { stdout } = await cli(["service", "events", "get", event_id, ...base]);
  expect(stdout).toMatch(
    /^Attempt \d+: The certificate is self-signed\. To trust it, start the sandbox/m,
  );
  await dev.interrupt();
});

test("each command suggests https: for an http: URL of a port that serves HTTPS", async () => {
  expect(await outputsOf(await receiver(valid, "http://localhost"))).toEqual(
    inEach(/serves HTTPS, use an https: URL\./),
  );
});
