import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { sign } from "@svc-webhooks/core";
import { listen } from "@svc-webhooks/kit/servers";
import { describe, expect, onTestFinished, test } from "vitest";
import { key, valid } from "../../sandbox/test/network/certificates.js";
import { toolList } from "../src/tools/all.js";
import { connect, endpointOf, post, receiverUrl, secret } from "./support.js";

test("the client lists all tools with their annotations and schemas", async () => {
  const { client } = await connect([]);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(toolList().map(({ name }) => name));
  expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual(
    toolList().map(({ name, needs_write }) => [name, needs_write === "never"]),
  );
  const destructive = tools.filter(({ annotations }) => annotations?.destructiveHint === true);
  expect(destructive.map(({ name }) => name)).toEqual([
    "doctor",
    "deliver",
    "replay",
    "conformance",
  ]);
  for (const { inputSchema, outputSchema } of tools) {
    expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    expect(outputSchema?.["properties"]).toHaveProperty("untrusted");
    expect(outputSchema?.["required"]).toContain("next_step");
  }
});

describe("verify and explain_signature", () => {
  const body = '{ "type": "email.sent" }';

  test("a genuine signature is genuine", async () => {
    const { call } = await connect(["--secret-env", "SECRET"]);
    const given = { body, signature: await sign(body, secret) };
    expect(await call("verify", given)).toMatchObject({ ok: true, code: "genuine" });
    expect(await call("explain_signature", given)).toMatchObject({ ok: true, code: "genuine" });
  });

  test("a wrong signature has the outcome's sentences, and its mistake is named", async () => {
    const { call } = await connect(["--secret-env", "SECRET"]);
    const signature = await sign(JSON.stringify(JSON.parse(body)), secret);
    const refused = await call("verify", { body, signature, secret: "SECRET" });
    expect(refused).toMatchObject({ ok: false, code: "signature_mismatch", isError: false });
    expect(refused.fix).not.toBe("");
    const explained = await call("explain_signature", { body, signature });
    expect(explained).toMatchObject({
      code: "reserialized_json",
      facts: { verdict: "known_mistake", body_bytes: 24, signed_bytes: 21 },
    });
    expect(explained.untrusted).toContain("the signed bytes from there");
  });

  test("repeated calls reveal no digit of the correct signature", async () => {
    const { call } = await connect(["--secret-env", "SECRET"]);
    const genuine = await sign(body, secret);
    const withWrong = (at: number) =>
      genuine.slice(0, at) + (genuine[at] === "0" ? "1" : "0") + genuine.slice(at + 1);
    const results = [];
    for (const at of [7, 8, 40, 70])
      results.push(await call("explain_signature", { body, signature: withWrong(at) }));
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
    expect(JSON.stringify(results)).not.toMatch(/first_difference|signed"|yours"/);
  });

  test("bodies that are not UTF-8 are passed as base64", async () => {
    const { call } = await connect(["--secret-env", "SECRET"]);
    const bytes = Uint8Array.of(0xff, 0x00, 0x80);
    const given = { body_encoding: "base64", signature: await sign(bytes, secret) };
    const result = await call("verify", { ...given, body: Buffer.from(bytes).toString("base64") });
    expect(result).toMatchObject({ ok: true, facts: { body_bytes: 3 } });
    expect(await call("verify", { ...given, body: "no base64" })).toMatchObject({
      code: "invalid_body",
      isError: true,
    });
  });

  test("a replaced secret is named", async () => {
    const names = ["--secret-env", "SECRET", "--secret-env", "OLD"];
    const { call } = await connect(names, { OLD: "whsec_old_old_old_old_old_old" });
    const signature = await sign(body, "whsec_old_old_old_old_old_old");
    const given = { body, signature, secret: "SECRET", previous_secrets: ["OLD"] };
    expect(await call("explain_signature", given)).toMatchObject({ code: "old_secret" });
  });
});

describe("a receiver with --write", () => {
  const open = () => connect(["--secret-env", "SECRET", "--write"]);

  test("doctor finds no mistake in a good receiver", async () => {
    const { call } = await open();
    const result = await call("doctor", { url: await receiverUrl() });
    expect(result).toMatchObject({ ok: true, code: "no_mistake", facts: { findings: [] } });
    expect(Number(result.facts?.["probes"])).toBeGreaterThan(20);
  });

  test("doctor names the mistake of a receiver with another secret", async () => {
    const { call } = await open();
    const url = await receiverUrl({ "*": () => {} }, "whsec_another_secret_of_an_endpoint");
    const result = await call("doctor", { url });
    expect(result).toMatchObject({ ok: false, code: "wrong_secret", isError: false });
    expect(result.cause).not.toBe("");
  });

  test("doctor quotes no error of a connection outside of `untrusted`", async () => {
    const { call } = await open();
    let requests = 0;
    const port = await listen((request, response) => {
      requests += 1;
      if (requests > 1) request.socket.destroy();
      else request.resume().on("end", () => response.writeHead(200).end());
    });
    const result = await call("doctor", { url: `http://127.0.0.1:${port}/` });
    expect(result).toMatchObject({ code: "stopped_early", facts: { findings: [] } });
    expect(result.facts?.["not_judged"]).toHaveLength(5);
    expect(JSON.stringify(result)).not.toContain("no response");
  });

  test.each([
    ["signed", true, "processed"],
    ["tampered", true, "refused"],
    ["duplicate", true, "duplicate"],
    ["reordered", true, "processed"],
  ])("deliver %s", async (mode, ok, code) => {
    const { call } = await open();
    const types: unknown[] = [];
    const url = await receiverUrl({ "*": ({ type }) => void types.push(type) });
    const result = await call("deliver", { mode, url, type: "email.opened", data: { a: 1 } });
    expect(result).toMatchObject({ ok, code, facts: { to: "receiver" } });
    const runs = { signed: 1, tampered: 0, duplicate: 1, reordered: 2 }[mode] ?? -1;
    expect(types).toEqual(Array.from({ length: runs }, () => "email.opened"));
  });

  test("the newer of reordered events arrives first", async () => {
    const { call } = await open();
    const times: string[] = [];
    const url = await receiverUrl({
      "*": (event) => void times.push(String((event as { created_at?: unknown }).created_at)),
    });
    await call("deliver", { mode: "reordered", url });
    expect(times).toHaveLength(2);
    expect(times).toEqual(times.toSorted().toReversed());
  });

  test.each(["wrong_secret", "flipped_byte", "missing_prefix", "missing_header"])(
    "a receiver refuses a delivery with %s",
    async (tamper) => {
      const { call } = await open();
      const result = await call("deliver", { mode: "tampered", tamper, url: await receiverUrl() });
      expect(result).toMatchObject({ ok: true, facts: { responses: [{ status: 401 }] } });
    },
  );

  test("nothing listens", async () => {
    const { call } = await open();
    const result = await call("deliver", { mode: "signed", url: "http://127.0.0.1:9/" });
    expect(result).toMatchObject({ ok: false, code: "unreachable", isError: false });
  });
});

describe("the server's own sandbox, without --write", () => {
  async function open(on?: Parameters<typeof endpointOf>[1]) {
    const connected = await connect(["--sandbox", "--port", "0"]);
    const sandbox = await connected.sandboxUrl();
    return { ...connected, endpoint: await endpointOf(sandbox, on) };
  }

  test("deliver, wait_for and timeline follow a delivery", async () => {
    const { call, endpoint } = await open();
    expect(await call("timeline")).toMatchObject({ code: "no_deliveries" });
    expect(await call("deliver", { mode: "signed" })).toMatchObject({
      code: "delivery_started",
      facts: { to: "sandbox" },
    });
    const waited = await call("wait_for", { type: "email.delivered", state: "succeeded" });
    expect(waited).toMatchObject({ ok: true, code: "processed", facts: { attempts: 1 } });
    const listed = await call("timeline", { limit: 2 });
    expect(listed).toMatchObject({
      code: "no_failures",
      facts: { shown: 2, states: { succeeded: 2 }, outcomes: { processed: 2 } },
    });
    expect(listed.untrusted).toContain(`endpoint=${endpoint}`);
    const [, event_id] = /event_id=(evt_\w+)/.exec(listed.untrusted ?? "") ?? [];
    const detail = await call("timeline", { event_id });
    expect(detail).toMatchObject({ ok: true, code: "processed", facts: { shown: 1 } });
    expect(detail.untrusted).toMatch(/attempt 1: 200, \d+ ms, response: \{"status":"processed"/);
    expect(detail.untrusted).toMatch(/body: \{"event_id": "evt_/);
  });

  test("a failed delivery has the outcome's sentences, and replay delivers it again", async () => {
    let isBroken = true;
    const { call, sandboxUrl } = await open({
      "*": () => {
        if (isBroken) throw new Error("broken");
      },
    });
    // Without retries, only replay delivers it again.
    await post(`${await sandboxUrl()}/_sandbox/assumptions/A-09`, { value: "none" });
    await call("deliver", { mode: "signed" });
    const failing = await call("wait_for", { state: "failed" });
    expect(failing).toMatchObject({ ok: false, code: "handler_failed", isError: false });
    const listed = await call("timeline");
    expect(listed).toMatchObject({ ok: false, code: "handler_failed", isError: false });
    expect(listed.fix).not.toBe("");
    isBroken = false;
    const [, event_id] = /event_id=(evt_\w+)/.exec(listed.untrusted ?? "") ?? [];
    expect(await call("replay", { event_id })).toMatchObject({
      ok: true,
      code: "redelivery_accepted",
    });
    const waited = await call("wait_for", { event_id, state: "succeeded" });
    expect(waited).toMatchObject({ ok: true, code: "processed" });
  });

  test("a fault changes the next delivery", async () => {
    const { call } = await open();
    const added = await call("set_fault", { kind: "status", status: 503, times: 2 });
    expect(added).toMatchObject({ ok: true, facts: { kind: "status", left: 2 } });
    await call("deliver", { mode: "signed" });
    await call("wait_for", { min_attempts: 1, timeout_seconds: 5 });
    expect((await call("timeline")).untrusted).toContain("#1 503");
  });

  test("the sandbox has every fault of set_fault", async () => {
    const { call, client } = await open();
    const { tools } = await client.listTools();
    const schema = JSON.stringify(tools.find(({ name }) => name === "set_fault"));
    const [, list = "[]"] = /"enum":(\[[^\]]*"reorder"[^\]]*\])/.exec(schema) ?? [];
    const kinds = JSON.parse(list) as readonly string[];
    expect(kinds).toContain("reorder");
    for (const kind of kinds)
      expect(await call("set_fault", { kind })).toMatchObject({ ok: true, facts: { kind } });
  });

  test("tampered, duplicate and reordered deliveries", async () => {
    const { call } = await open();
    expect(await call("deliver", { mode: "tampered" })).toMatchObject({ code: "no_delivery" });
    await call("deliver", { mode: "signed" });
    await call("wait_for", { type: "email.delivered", state: "succeeded" });
    expect(await call("deliver", { mode: "tampered" })).toMatchObject({ ok: true });
    await call("wait_for", { min_attempts: 2 });
    const refused = await call("timeline");
    expect(refused).toMatchObject({ ok: true, code: "no_failures" });
    expect(refused.untrusted).toMatch(/#2 401 signature_mismatch \d+ ms \(tampered\)/);
    const [, event_id] = /event_id=(evt_\w+)/.exec(refused.untrusted ?? "") ?? [];
    const detail = await call("timeline", { event_id });
    expect(detail).toMatchObject({ ok: true, code: "processed" });
    expect(detail.untrusted).toContain("attempt 2 (tampered): 401");
    await call("deliver", { mode: "duplicate" });
    await call("wait_for", { min_attempts: 4 });
    expect((await call("timeline")).untrusted).toContain("duplicate");
    expect(await call("deliver", { mode: "reordered" })).toMatchObject({ ok: true });
  });

  test("an endpoint must be named if there are several", async () => {
    const { call, sandboxUrl, endpoint } = await open();
    const other = await endpointOf(await sandboxUrl());
    const refused = await call("set_fault", { kind: "refused" });
    expect(refused).toMatchObject({ isError: true, code: "endpoint_needed" });
    expect(refused.untrusted).toContain(other);
    expect(await call("set_fault", { kind: "refused", endpoint })).toMatchObject({ ok: true });
    const unknown = await call("set_fault", { kind: "refused", endpoint: "we_x" });
    expect(unknown).toMatchObject({ isError: true, code: "endpoint_needed" });
  });
});

describe("conformance", () => {
  const open = () => connect(["--secret-env", "SECRET", "--write"]);

  test("a good receiver passes", async () => {
    const { call } = await open();
    const result = await call("conformance", { url: await receiverUrl() });
    expect(result).toMatchObject({ ok: true, code: "conforms", facts: { failures: [] } });
    expect(result.happened).toMatch(
      /every case that was judged\. \d+ were not judged: they depend on its handler/,
    );
    expect(Number(result.facts?.["passed"])).toBeGreaterThan(10);
  });

  test("a receiver that verifies nothing fails, with the sentence it breaks", async () => {
    const { call } = await open();
    const port = await listen((request, response) => {
      request.resume().on("end", () => response.end());
    });
    const result = await call("conformance", { url: `http://127.0.0.1:${port}/` });
    expect(result).toMatchObject({ ok: false, code: "contract_broken", isError: false });
    const failures = (result.facts?.["failures"] ?? []) as readonly { readonly source: string }[];
    expect(failures[0]?.source).toMatch(/, .+: ./);
    expect(result.cause).not.toBe("");
  });
});

describe("a receiver that cannot be reached", () => {
  /** Serves HTTPS with a self-signed certificate, or HTTP. Returns the port. */
  async function serve(isTls: boolean): Promise<number> {
    const server = isTls ? createHttps({ key, cert: valid }) : createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    return (server.address() as AddressInfo).port;
  }

  test.each([
    ["https", true, "tls", /^The certificate is self-signed\. .+ NODE_EXTRA_CA_CERTS/],
    ["https", false, "tls", /does not use TLS|during the TLS handshake/],
    ["http", true, "connection_closed", /serves HTTPS, use an https: URL/],
  ])("%s to a port with TLS %j is explained by conformance", async (scheme, isTls, code, cause) => {
    const { call } = await connect(["--secret-env", "SECRET", "--write"]);
    const url = `${scheme}://localhost:${await serve(isTls)}/`;
    expect(await call("conformance", { url })).toMatchObject({
      ok: false,
      code,
      happened: "No response arrived from the receiver, so no case was judged.",
      cause: expect.stringMatching(cause),
      next_step: expect.stringContaining("Only the user"),
    });
  });

  test("is not a mistake of the receiver", async () => {
    const { call } = await connect(["--secret-env", "SECRET", "--write"]);
    const url = `https://localhost:${await serve(true)}/`;
    const found = { code: "tls", happened: "The receiver cannot be reached." };
    expect(await call("doctor", { url })).toMatchObject(found);
    expect(await call("deliver", { mode: "signed", url })).toMatchObject(found);
    const nothing = { url: "http://localhost:9/" };
    expect(await call("conformance", nothing)).toMatchObject({ code: "unreachable" });
    expect(await call("doctor", nothing)).toMatchObject({ ...found, code: "unreachable" });
  });
});
