import { readFileSync, writeFileSync } from "node:fs";
import { createReceiver } from "@svc-webhooks/core";
import { outcomeText } from "@svc-webhooks/core/outcomes";
import { listen } from "@svc-webhooks/kit/servers";
import { until } from "@svc-webhooks/kit/until";
import { webhooks } from "@svc-webhooks/node";
import { discord, stripe } from "@svc-webhooks/schemes";
import { senders } from "@svc-webhooks/schemes/senders";
import { describe, expect, test } from "vitest";
import { captured, listening, sha256, target } from "./listening.js";
import { cli, newFile, secret, start } from "./support.js";

const event = '{ "id": "evt_1", "type": "invoice.paid" }\r\n';

const post = (url: string, headers: Readonly<Record<string, string>>, body = event) =>
  fetch(url, { method: "POST", headers, body, redirect: "manual" });

const signed = (body = event, at = Date.now()) => senders.stripe.sign(body, { secret, at });

/** Signs two hours ago. */
const old = () => signed(event, Date.now() - 7_200_000);

describe("listen --scheme", () => {
  test("verifies, saves and forwards with the sender's own headers", async () => {
    const { url: to, got } = await target();
    const file = newFile("capture.jsonl");
    const args = ["--scheme=stripe", "--forward-to", to, "--save", file];
    const { url, received, output } = await listening(args);
    const headers = { ...(await signed()), "x-other": "1", cookie: "a=b", authorization: "c" };
    expect((await post(`${url}/a`, headers)).status).toBe(200);
    await until(() => received().length === 1, "the delivery is shown");
    expect(received()[0]).toMatchObject({
      delivery_id: "evt_1",
      type: "invoice.paid",
      verdict: "genuine",
      secret: "current",
      status: 200,
      target_status: 200,
    });
    expect(got[0]?.body.toString()).toBe(event);
    expect(got[0]?.headers).toMatchObject({
      "x-other": "1",
      "stripe-signature": expect.anything(),
    });
    expect(got[0]?.headers).not.toHaveProperty("cookie");
    expect(got[0]?.headers).not.toHaveProperty("authorization");
    expect(captured(file)).toMatchObject([{ verdict: "genuine", path: "/a" }]);
    expect(output.stdout).not.toContain(secret);
  });

  test("responds 401 to what is not genuine, forwards nothing, and prints outcome and mistake", async () => {
    const { url: to, got } = await target();
    const { url, received } = await listening(["--scheme=stripe", "--forward-to", to]);
    const responses = [
      await post(url, {}),
      await post(url, await old()),
      await post(url, await signed(), event.trim()),
      await post(url, { "stripe-signature": "\u00e9" }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    await until(() => received().length === 4, "the deliveries are shown");
    const shown = received().map(({ outcome, mistake }) => `${String(outcome)} ${String(mistake)}`);
    expect(shown.toSorted()).toEqual([
      "signature_malformed null",
      "signature_mismatch newline_added",
      "signature_missing null",
      "signature_stale stale",
    ]);
    expect(got).toEqual([]);
  });

  test("prints the cause and the fix as text, without a secret or control characters", async () => {
    const args = ["listen", "--port=0", "--scheme=stripe", "--secret-env=SECRET"];
    const { output, shows } = start(args);
    await shows(/Listening at (.+)\n/);
    const [, url = ""] = /Listening at (.+)\n/.exec(output.stdout) ?? [];
    const body = JSON.stringify({ id: "evt_1", type: `\u001b[2J${secret}` });
    await post(url, await signed(body), body);
    await post(url, await old());
    await shows(/signature_stale\n/);
    await shows(/sign it again with svc-webhooks replay --resign/);
    expect(output.stdout).toMatch(
      /tolerated\.\n {2}The signature is genuine, but it was made about 2 h/,
    );
    expect(output.stdout).toMatch(/^[\n -~…]+$/);
    expect(output.stdout).not.toContain(secret);
  });

  test("prints what happened, the cause, the fix and where to look further", async () => {
    const { output, shows } = start([
      "listen",
      "--port=0",
      "--scheme=stripe",
      "--secret-env=SECRET",
    ]);
    await shows(/\n/);
    const [url = ""] = /http:\S+/.exec(output.stdout) ?? [];
    await post(url, {});
    await shows(/signature_missing\n.+\n.+\n.+\n/);
    await post(url, await signed("other"));
    await shows(/signature_mismatch\n.+\n.+\n.+\n.+\n/);
    await post(url, await signed(event.trim()));
    await shows(/signature_mismatch\n.+\n.+\n.+exactly as they arrived.+\n/);
    await post(url, await signed());
    await shows(/genuine\n$/);
    const missing = outcomeText("signature_missing", stripe());
    const mismatch = outcomeText("signature_mismatch", stripe());
    const line = (text: string | undefined) => expect.stringContaining(`  ${text}`);
    expect(output.stdout.split("\n").slice(2)).toEqual([
      expect.stringMatching(
        / {2}401 signature_missing {2}POST {2}\(no delivery id\) {2}signature_missing$/,
      ),
      line(missing?.happened),
      line(missing?.cause),
      line(missing?.fix),
      expect.stringMatching(/ {2}signature_mismatch$/),
      line(mismatch?.happened),
      line(mismatch?.cause),
      line(mismatch?.fix),
      expect.stringMatching(/^ {2}This command looks only for mistakes .+ --explain\.$/),
      expect.stringMatching(/ {2}signature_mismatch$/),
      line(mismatch?.happened),
      expect.stringMatching(/^ {2}The signature was made from different bytes\. .+\.$/),
      expect.stringMatching(/^ {2}Pass the bytes exactly as they arrived, .+\.$/),
      expect.stringMatching(/ {2}200 processed {2}invoice\.paid {2}evt_1 {2}genuine$/),
      "",
    ]);
  });

  test("responds to a handshake as a receiver does, and forwards one", async () => {
    const { secret: key, signingSecret } = await senders.discord.testKeys();
    const ping = '{"type":0}';
    const headers = await senders.discord.sign(ping, { secret: signingSecret });
    const alone = await listening(["--scheme=discord"], { SECRET: key });
    expect((await post(alone.url, headers, ping)).status).toBe(204);

    const receiver = createReceiver({ scheme: discord(), secret: key, on: { "*": () => {} } });
    const port = await listen(webhooks(receiver));
    const to = `http://127.0.0.1:${port}`;
    const { url } = await listening(["--scheme=discord", "--forward-to", to], { SECRET: key });
    expect((await post(url, headers, ping)).status).toBe(204);
  });

  test("needs a secret of the sender, because it can register no endpoint", async () => {
    const args = ["listen", "--port=0", "--scheme=stripe"];
    expect(await cli(args)).toMatchObject({ code: 2, stderr: expect.stringContaining("missing") });
    const other = await cli([...args, "--secret-env=OTHER"], {
      env: { OTHER: "sk_live_12345678" },
    });
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("whsec_") });
    expect(other.stderr).not.toContain("sk_live_12345678");
  });
});

describe("replay --scheme", () => {
  /** Writes a capture of a delivery that was signed two hours ago. */
  async function staleCapture(): Promise<string> {
    const file = newFile("capture.jsonl");
    const { url, interrupt } = await listening(["--scheme=stripe", "--save", file]);
    await post(url, { ...(await old()), "x-other": "1" });
    await interrupt();
    return file;
  }

  const receiver = () =>
    listen(
      webhooks(createReceiver({ scheme: stripe(), secret, on: { "*": () => {} }, log: () => {} })),
    );

  test("sends a capture as it is, which becomes stale", async () => {
    const to = `http://127.0.0.1:${await receiver()}`;
    const file = await staleCapture();
    const { code, stdout } = await cli(["replay", file, "--to", to, "--scheme=stripe"]);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/line 1 {2}evt_1 {2}status 401/)]);
  });

  test("without --scheme, notes once that the sender's headers are not sent", async () => {
    const { url: to, got } = await target();
    const line = readFileSync(await staleCapture(), "utf8");
    const file = newFile("capture.jsonl");
    writeFileSync(file, line.repeat(2));
    const { stderr } = await cli(["replay", file, "--to", to]);
    expect(stderr).toBe("The headers of stripe are not sent. To send them, add --scheme stripe.\n");
    expect(got.map(({ headers }) => headers["stripe-signature"])).toEqual([undefined, undefined]);
    // A delivery of the service may have such a header too.
    writeFileSync(file, line.replace('"headers":[', '"headers":[["X-SVC-Signature","sha256=0"],'));
    expect((await cli(["replay", file, "--to", to])).stderr).toBe("");
  });

  test("--resign signs it again, with the same bytes, id and other headers", async () => {
    const to = `http://127.0.0.1:${await receiver()}`;
    const file = await staleCapture();
    const args = ["--scheme=stripe", "--resign", "--secret-env=SECRET"];
    expect(await cli(["replay", file, "--to", to, ...args])).toMatchObject({
      code: 0,
      stdout: "Sent 1: 1 succeeded, 0 failed.\n",
    });
    const { url, got } = await target();
    await cli(["replay", file, "--to", url, ...args]);
    expect(sha256(got[0]?.body ?? Buffer.of())).toBe(sha256(Buffer.from(event)));
    expect(got[0]?.headers["x-other"]).toBe("1");
    const signatures = got[0]?.rawHeaders.filter((one) => /^stripe-signature$/i.test(one));
    expect(signatures).toHaveLength(1);
    expect(readFileSync(file, "utf8")).not.toContain(got[0]?.headers["stripe-signature"]);
  });

  test("--resign keeps the id and the event of GitHub's headers", async () => {
    const file = newFile("capture.jsonl");
    const { url, interrupt } = await listening(["--scheme=github", "--save", file]);
    const body = '{"action":"opened"}';
    const options = { secret, deliveryId: "dlv_1", type: "issues" };
    await post(url, await senders.github.sign(body, options), body);
    await interrupt();
    const { url: to, got } = await target();
    const words = ["--scheme=github", "--resign", "--secret-env=SECRET", "--delivery-id=dlv_1"];
    expect((await cli(["replay", file, "--to", to, ...words])).code).toBe(0);
    expect(got[0]?.headers).toMatchObject({
      "x-github-delivery": "dlv_1",
      "x-github-event": "issues",
    });
  });

  test("--resign states how many requests were refused on arrival", async () => {
    const file = newFile("capture.jsonl");
    const { url, interrupt } = await listening(["--scheme=github", "--save", file]);
    const body = '{"action":"opened"}';
    await post(url, await senders.github.sign(body, { secret }), body);
    await post(url, await senders.github.sign(body, { secret: "another secret" }), body);
    await interrupt();
    const { url: to, got } = await target();
    const words = [
      "replay",
      file,
      "--to",
      to,
      "--scheme=github",
      "--resign",
      "--secret-env=SECRET",
    ];
    const all = await cli(words);
    expect([all.code, got.length]).toEqual([0, 2]);
    expect(all.stderr).toContain(
      "Requests that were refused on arrival, for example as stale, but are now signed again: 1. To leave them out,",
    );
    expect((await cli([...words, "--only=genuine"])).stderr).not.toContain("refused on arrival");
    expect(got).toHaveLength(3);
  });

  test.each([
    ["--resign without a scheme or a secret", ["--resign"], /secret is missing/],
    ["--resign without a secret", ["--scheme=stripe", "--resign"], /secret is missing/],
    ["a secret without --resign", ["--scheme=stripe", "--secret-env=SECRET"], /without --resign/],
  ])("refuses %s", async (_what, args, text) => {
    const { code, stderr } = await cli(["replay", "f", "--to", "http://127.0.0.1:1", ...args]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(text)]);
  });
});
