import { axe } from "@svc-webhooks/kit/axe";
import { describeWithBrowser, openPage } from "@svc-webhooks/kit/browser";
import { listen } from "@svc-webhooks/kit/servers";
import { expect, test } from "vitest";

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types inspector",
].join("; ");

/** A script that violates the policy and displays the resulting errors. */
const script = `
  const errors = [];
  for (const attempt of [() => eval("1"), () => (document.body.innerHTML = "<p>")]) {
    try { attempt(); } catch (error) { errors.push(error.name); }
  }
  document.querySelector("#errors").textContent = errors.join();
`;

/** The console lines in which Chromium reports the script's violations. */
const allow = [/requires 'TrustedScript' assignment/, /requires 'TrustedHTML' assignment/];

/** Serves a page under the policy, with this content in `main`. */
async function serve(main: string): Promise<string> {
  const files: Readonly<Record<string, readonly [type: string, text: string]>> = {
    "/": [
      "text/html",
      `<!doctype html><html lang="en"><title>Page</title><link rel="stylesheet" href="/page.css">
       <main><h1>Page</h1><p id="errors">none</p>${main}</main><script src="/page.js"></script></html>`,
    ],
    "/page.css": ["text/css", ".pale { color: #ddd; background: #fff }"],
    "/page.js": ["text/javascript", script],
  };
  const port = await listen(({ url = "" }, response) => {
    const [type, text] = files[url] ?? ["text/plain", ""];
    response.setHeader("content-type", type);
    response.setHeader("content-security-policy", policy);
    response.end(text);
  });
  return `http://127.0.0.1:${port}`;
}

const planted = `
  <button id="nameless"></button>
  <p class="pale">Too pale to be read.</p>
  <h4>Two levels too deep</h4>
`;

const violations = [
  {
    rule: "button-name",
    target: "#nameless",
    summary: expect.stringContaining("does not have inner text that is visible"),
  },
  { rule: "color-contrast", target: ".pale", summary: expect.stringContaining("4.5:1") },
  { rule: "heading-order", target: "h4", summary: expect.stringContaining("Heading order") },
];

describeWithBrowser("axe", () => {
  test("names each planted violation in a page that may not evaluate code", async () => {
    const page = await openPage(await serve(planted), { allow });
    await page.goto("/");
    expect(await page.textContent("#errors")).toBe("EvalError,TypeError");
    expect(await axe(page)).toEqual(violations);
  });

  test("names them where scripts are off, and leaves them off", async () => {
    const page = await openPage(await serve(planted), { javaScriptEnabled: false });
    await page.goto("/");
    expect(await axe(page)).toEqual(violations);
    expect(await page.evaluate(() => matchMedia("(scripting: none)").matches)).toBe(true);
    await page.reload();
    expect(await page.textContent("#errors")).toBe("none");
    expect(await axe(page)).toEqual(violations);
  });

  test("finds nothing in a page without violations", async () => {
    const page = await openPage(await serve("<p>Plain text.</p>"), { allow });
    await page.goto("/");
    expect(await axe(page)).toEqual([]);
  });

  test("leaves no trace in the page", async () => {
    const page = await openPage(await serve("<p>Plain text.</p>"), { allow });
    await page.goto("/");
    await axe(page);
    expect(await page.evaluate(() => "axe" in globalThis)).toBe(false);
  });
});
