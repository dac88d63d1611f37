import { createHash, createHmac } from "node:crypto";
import { axe } from "@svc-webhooks/kit/axe";
import { describeWithBrowser, openPage, type PageOptions } from "@svc-webhooks/kit/browser";
import { launchChromium } from "@svc-webhooks/kit/chromium";
import { compact, crlf, lf, plantMistakes } from "@svc-webhooks/kit/planted-mistakes";
import { senders, type SenderName } from "@svc-webhooks/schemes/senders";
import type { Page } from "playwright-core";
import { eachNth, ends } from "@svc-webhooks/kit/sized";
import { expect, onTestFinished, test } from "vitest";
import { signedBy } from "../../../tools/cli/test/scheme-requests.js";
import { mistakes } from "../../../tools/explain/src/mistakes.js";
import { serveSite } from "./site.js";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const oldSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const otherSecret = "whsec_b3RoZXIgZW5kcG9pbnQ6IGEgc2VjcmV0";
const planted = plantMistakes({ secret, oldSecret, otherSecret });
const others = { previous: oldSecret, others: otherSecret };

/** A value that no known mistake produces. It needs thousands of digests. */
const unknown = `sha256=${createHash("sha256").update("unknown").digest("hex")}`;

interface Fields {
  readonly sender?: SenderName;
  readonly body: string | Uint8Array;
  readonly signature?: string | undefined;
  readonly headers?: string;
  readonly at?: string;
  readonly secret?: string;
  readonly previous?: string;
  readonly others?: string;
}

const field = (page: Page, name: string) => page.getByLabel(name, { exact: true });
const file = (page: Page) => field(page, "Or a file with the exact bytes of the body");
const status = (page: Page) => page.getByRole("status");
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

async function openExplain(options?: PageOptions): Promise<Page> {
  const page = await openPage((await serveSite()).origin, options);
  await page.goto("/explain", { waitUntil: "networkidle" });
  await button(page, "Explain").waitFor();
  return page;
}

/** Fills in the fields. A body that the field would change is entered as base64. */
async function fill(page: Page, fields: Fields): Promise<void> {
  const { sender = "service", body } = fields;
  await field(page, "Sender").selectOption(sender);
  const isText = typeof body === "string" && !/[\r\uFEFF]/.test(body);
  await field(page, "The body is base64").setChecked(!isText);
  await field(page, "Body").fill(isText ? body : Buffer.from(body).toString("base64"));
  if (sender === "service") {
    await field(page, "Value of X-SVC-Signature").fill(fields.signature ?? "");
    await field(page, "Secrets of other endpoints, one per line (optional)").fill(
      fields.others ?? "",
    );
  } else {
    await field(page, "Headers").fill(fields.headers ?? "");
    await field(page, "Time of arrival").fill(fields.at ?? "");
  }
  await field(page, "Secret").fill(fields.secret ?? secret);
  await field(page, "Previous secrets, one per line (optional)").fill(fields.previous ?? "");
}

const submit = (page: Page) => button(page, "Explain").click();

/** Waits for the result. Resolves to the id of the mistake, or to the verdict if no mistake was found. */
async function resultOf(page: Page): Promise<string> {
  const verdict = await status(page).locator(".verdict").textContent();
  const [id] = await status(page).locator("dt:text-is('Mistake') + dd").allTextContents();
  return id?.trim() ?? String(verdict);
}

async function explained(page: Page, fields: Fields): Promise<string> {
  await fill(page, fields);
  await submit(page);
  return resultOf(page);
}

const genuine = "The signature is genuine.";

describeWithBrowser("the page that explains a signature", () => {
  test("names the known mistakes", async () => {
    const page = await openExplain();
    const all = Object.keys(mistakes);
    expect(all).toHaveLength(47);
    // A second for each. The tests of `explain` find all of them.
    const ids = eachNth(all, 8);
    const found: (readonly [string, string])[] = [];
    for (const id of ids) {
      const example = planted.find((one) => one.id === id);
      const { body = compact, signature, secrets = secret } = example ?? {};
      const fields = { body, signature, secret: secrets, ...others };
      found.push([id, await explained(page, fields)]);
    }
    expect(found).toEqual(ids.map((id) => [id, id]));
  });

  test("judges the requests of each sender, and names a mistake in them", async () => {
    const page = await openExplain();
    const found: (readonly string[])[] = [];
    for (const sender of Object.keys(senders) as SenderName[]) {
      const { body, headers, secret: key } = await signedBy(sender);
      const lines = Object.entries(headers).map((pair) => pair.join(": "));
      const request = { sender, headers: lines.join("\n"), secret: key };
      const right = await explained(page, { ...request, body });
      found.push([sender, right, await explained(page, { ...request, body: `${body}\n` })]);
    }
    const hasPublicKey = /^(?:standard-webhooks-ed25519|discord|sendgrid)$/;
    expect(found).toEqual(
      Object.keys(senders).map((sender) => [
        sender,
        genuine,
        hasPublicKey.test(sender) ? "body_changed" : "newline_removed",
      ]),
    );
  });

  test("has an example behind each button", async () => {
    const page = await openExplain();
    const found: string[] = [];
    for (const one of await page.locator(".examples button").all()) {
      await one.click();
      found.push(await resultOf(page));
    }
    expect(found).toEqual([
      "reserialized_json",
      "secret_prefix_stripped",
      "old_secret",
      "newline_added",
      genuine,
      "stale",
    ]);
  });

  test("shows both bodies around the first byte that differs, and inserts them as text", async () => {
    const page = await openExplain();
    const body = '{"html": "<img src=x onerror=alert(1)>"}';
    const parsed = JSON.stringify(JSON.parse(body));
    const digest = createHmac("sha256", secret).update(parsed).digest("hex");
    const signature = `sha256=${digest}`;
    expect(await explained(page, { body, signature })).toBe("reserialized_json");
    const bodies = await status(page).locator(".bytes").allTextContents();
    expect(bodies).toEqual([body, parsed]);
    expect(await status(page).locator("mark").first().textContent()).toBe(body.slice(8));
    expect(await page.locator(".explain img").count()).toBe(0);
  });

  test("advises exact bytes for line endings, and reads them from a file", async () => {
    const page = await openExplain();
    const { signature } = planted.find(({ how }) => how === "LF to CRLF") ?? {};
    expect(await explained(page, { body: lf, signature })).toBe("line_endings");
    expect(await status(page).textContent()).toContain("choose a file with its exact bytes");
    await field(page, "Body").fill("");
    const exact = { name: "body.json", mimeType: "", buffer: Buffer.from(crlf) };
    await file(page).setInputFiles(exact);
    await submit(page);
    expect(await resultOf(page)).toBe(genuine);
    await button(page, "Remove the file").click();
    expect(await status(page).textContent()).toContain("Fill in the fields");
  });

  test("ends a run when the next one starts", async () => {
    const page = await openExplain();
    await fill(page, { body: compact, signature: unknown });
    await submit(page);
    await button(page, "Old secret").click();
    expect(await resultOf(page)).toBe("old_secret");
    await expect.poll(() => page.workers().length).toBe(0);
    const fields = { body: compact, signature: unknown };
    expect(await explained(page, fields)).toBe("The signature is not genuine.");
    expect(await status(page).textContent()).toContain("with the SHA-256");
  });

  const errors: readonly [string, string, Fields, RegExp][] = [
    [
      "a command as body",
      "Body",
      { body: `curl -d '${compact}' http://localhost` },
      /^This is more than the body/,
    ],
    [
      "a request as body",
      "Body",
      { body: `POST /webhooks HTTP/1.1\nHost: a\n\n${compact}` },
      /^This is more than the body/,
    ],
    [
      "several headers",
      "Value of X-SVC-Signature",
      { body: compact, signature: `Host: a\nX-SVC-Signature: ${unknown}` },
      /^Paste only the value/,
    ],
    [
      "an option of curl",
      "Value of X-SVC-Signature",
      { body: compact, signature: `-H 'X-SVC-Signature: ${unknown}'` },
      /^Paste only the value/,
    ],
    ["an empty secret", "Secret", { body: "x", secret: "" }, /^Enter the signing secret/],
    ["quotes", "Secret", { body: "x", secret: `"${secret}"` }, /quotes around the secret/],
    ["white space", "Secret", { body: "x", secret: `${secret} ` }, /white space around/],
    [
      "a secret of another kind",
      "Secret",
      { sender: "stripe", body: "x", headers: "a: b", secret: "sk_live_1" },
      /whsec_/,
    ],
    ["no headers", "Headers", { sender: "stripe", body: "x" }, /^Enter the headers/],
    [
      "a line that is not a header",
      "Headers",
      { sender: "stripe", body: "x", headers: "a: b\n\nc" },
      /^Line 3 is not a header/,
    ],
    [
      "a time without a zone",
      "Time of arrival",
      { sender: "stripe", body: "x", headers: "a: b", at: "2026-11-22T10:00:00" },
      /^This is not a time/,
    ],
    [
      "a day that its month does not have",
      "Time of arrival",
      { sender: "stripe", body: "x", headers: "a: b", at: "2026-02-30T10:00:00Z" },
      /^This is not a time/,
    ],
  ];

  test("shows an error next to its field", async () => {
    const page = await openExplain();
    for (const [mistake, name, fields, text] of errors) {
      await fill(page, fields);
      await submit(page);
      const invalid = field(page, name).and(page.locator("[aria-invalid=true]:focus"));
      await invalid.waitFor();
      const ids = (await invalid.getAttribute("aria-describedby")) ?? "";
      const error = page.locator(`[id="${ids.split(" ").at(-1)}"]`);
      expect({
        mistake,
        invalidFields: await page.locator("[aria-invalid=true]").count(),
        error: await error.textContent(),
      }).toEqual({ mistake, invalidFields: 1, error: expect.stringMatching(text) });
    }
  });

  test.each(["discord", "standard-webhooks-ed25519"] as const)(
    "states what %s needs where the browser has no Ed25519",
    async (sender) => {
      const page = await openPage((await serveSite()).origin);
      await page.route(/\/worker-[^/]*\.js$/, async (route) => {
        const response = await route.fetch();
        const without = `crypto.subtle.generateKey = () => Promise.reject(new Error("NotSupportedError"));`;
        await route.fulfill({ response, body: `${without}${await response.text()}` });
      });
      await page.goto("/explain", { waitUntil: "networkidle" });
      const { body, headers, secret: key } = await signedBy(sender);
      const lines = Object.entries(headers).map((pair) => pair.join(": "));
      await fill(page, { sender, body, headers: lines.join("\n"), secret: key });
      await submit(page);
      await page.locator("select[aria-invalid=true]:focus").waitFor();
      expect(await page.locator(".error").allTextContents()).toEqual([
        expect.stringContaining(`run svc-webhooks verify --scheme ${sender} --explain`),
      ]);
      // The other senders need no Ed25519.
      await button(page, "Stripe: a delivery verified too late").click();
      expect(await resultOf(page)).toBe("stale");
    },
  );

  test("refuses a body that is not base64, one that is given twice, and one that is too large", async () => {
    const page = await openExplain();
    const error = page.locator(".error");
    await fill(page, { body: "not base64!", signature: unknown });
    await field(page, "The body is base64").check();
    await submit(page);
    expect(await error.textContent()).toMatch(/^This is not base64/);
    const large = { name: "body", mimeType: "", buffer: Buffer.alloc(4_194_305) };
    await file(page).setInputFiles(large);
    await submit(page);
    expect(await error.textContent()).toMatch(/^There is a body above/);
    await field(page, "Body").fill("");
    await submit(page);
    expect(await error.textContent()).toMatch(/at most 4194304 bytes/);
  });

  test("makes no request after it has loaded, stores nothing, and shows no secret", async () => {
    const page = await openExplain();
    const kept = async () => ({
      address: location.href,
      cookies: document.cookie,
      databases: await indexedDB.databases(),
      local: JSON.stringify(localStorage),
      session: JSON.stringify(sessionStorage),
      state: JSON.stringify(history.state),
    });
    const before = await page.evaluate(kept);
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    const { signature } = planted.find(({ id }) => id === "old_secret") ?? {};
    await explained(page, { body: compact, signature: unknown, ...others });
    expect(await explained(page, { body: compact, signature, ...others })).toBe("old_secret");
    // The script of a worker is a blob of the page.
    expect(requests.filter((url) => !url.startsWith("blob:"))).toEqual([]);
    expect(await page.evaluate(kept)).toEqual(before);
    const shown = await page.evaluate(() => document.documentElement.outerHTML);
    for (const one of [secret, oldSecret, otherSecret]) {
      expect(shown).not.toContain(one.slice(6));
    }
  });

  test("can send nothing to another host, and neither can its workers", async () => {
    const page = await openExplain({ allow: [/Content Security Policy/] });
    const send = `fetch("https://example.com").then(() => "sent", () => "failed")`;
    const script = `
      let blocked = "nothing";
      addEventListener("securitypolicyviolation", (event) => (blocked = event.effectiveDirective));
      ${send}.then((result) => setTimeout(() => report([result, blocked])));`;
    const fromPage = `new Promise((report) => { ${script} })`;
    expect(await page.evaluate(fromPage)).toEqual(["failed", "connect-src"]);
    const fromWorker = await page.evaluate(
      (text) =>
        new Promise((resolve) => {
          const blob = new Blob([text], { type: "text/javascript" });
          const worker = new Worker(URL.createObjectURL(blob), { type: "module" });
          worker.addEventListener("message", ({ data }) => resolve(data));
        }),
      `const report = postMessage; ${script}`,
    );
    expect(fromWorker).toEqual(["failed", "connect-src"]);
  });

  test("states what it needs where scripts are off", async () => {
    const page = await openPage((await serveSite()).origin, { javaScriptEnabled: false });
    await page.goto("/explain");
    expect(await page.textContent("main")).toContain("This page needs JavaScript");
    const link = page.locator(".explain a");
    expect(await link.getAttribute("href")).toBe("/docs/debug-a-signature");
  });

  test("states that it needs https where the browser has no WebCrypto", async () => {
    const { port } = new URL((await serveSite()).origin);
    const addresses = { "site.example:80": `127.0.0.1:${port}` };
    const browser = await launchChromium({ addresses });
    onTestFinished(() => browser.close());
    const page = await openPage("http://site.example", { browser });
    await page.goto("/explain");
    await page.getByText("only on https and on localhost").waitFor();
    expect(await button(page, "Explain").count()).toBe(0);
  });

  const looks = [
    ["light", 1440],
    ["dark", 1440],
    ["light", 390],
    ["dark", 390],
  ] as const;
  test.each(ends(looks))("has no violations in %s colors at %i px", async (colorScheme, width) => {
    const page = await openExplain({ colorScheme, viewport: { width, height: 900 } });
    expect(await axe(page)).toEqual([]);
    await button(page, "JSON parsed and serialized again").click();
    await resultOf(page);
    expect(await axe(page)).toEqual([]);
    await fill(page, { sender: "stripe", body: "x", secret: "", at: "x" });
    await submit(page);
    await page.locator("[aria-invalid=true]:focus").waitFor();
    expect(await axe(page)).toEqual([]);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
  });
});
