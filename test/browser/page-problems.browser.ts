import { describeWithBrowser, openPage } from "@svc-webhooks/kit/browser";
import { watchPages } from "@svc-webhooks/kit/page-problems";
import { listen } from "@svc-webhooks/kit/servers";
import { describe, expect, test } from "vitest";

/** An empty icon. Without it, Chromium requests `/favicon.ico` and logs the 404. */
const icon = '<link rel="icon" href="data:,">';

/** Serves an HTML page at `/`, responds with 404 to everything else, and returns the origin. */
async function serve(html: string): Promise<string> {
  const port = await listen((request, response) => {
    response.setHeader("content-type", "text/html");
    if (request.url === "/") response.end(`<!doctype html>${icon}<title>page</title>${html}`);
    else response.writeHead(404).end();
  });
  return `http://127.0.0.1:${port}`;
}

const problems: readonly { readonly what: string; readonly html: string; readonly line: RegExp }[] =
  [
    {
      what: "an error in the console",
      html: "<script>console.error('planted')</script>",
      line: /^console error: planted \(http:\/\/127\.0\.0\.1:\d+\/:1\)$/,
    },
    {
      what: "a warning in the console",
      html: "<script>console.warn('planted')</script>",
      line: /^console warning: planted /,
    },
    {
      what: "an assertion in the console",
      html: "<script>console.assert(false, 'planted')</script>",
      line: /^console assert: planted /,
    },
    {
      what: "an error that nothing catches",
      html: "<script>throw new Error('planted')</script>",
      line: /^page error: Error: planted/,
    },
    {
      what: "a promise that nothing catches",
      html: "<script>Promise.reject(new Error('planted'))</script>",
      line: /^page error: Error: planted/,
    },
    {
      what: "a response that is an error",
      html: "<img src='/missing.png' alt=''>",
      line: /^console error: Failed to load resource: .*404/,
    },
  ];

describeWithBrowser("a page under test", () => {
  test.each(problems)("fails its test with $what", async ({ html, line }) => {
    const origin = await serve(html);
    const page = await openPage(origin, { allow: [line] });
    const { found, settled } = watchPages(page.context(), origin);
    await page.goto("/");
    await settled();
    expect(found).toEqual([expect.stringMatching(line)]);
  });

  test.fails("fails a test that has not allowed its problem", async () => {
    const page = await openPage(await serve("<script>console.error('planted')</script>"));
    await expect(page.goto("/")).resolves.toBeDefined();
  });

  test("reports requests to other origins, which reach no other host", async () => {
    // The address belongs to this machine, so the test stays offline even if the browser sends the request.
    const origin = await serve("<img src='http://127.0.0.2:4010/pixel.png' alt=''>");
    const allow = [
      /other origin: http:\/\/127\.0\.0\.2:4010\/pixel\.png$/,
      /ERR_NAME_NOT_RESOLVED/,
    ];
    const page = await openPage(origin, { allow });
    const { found, settled } = watchPages(page.context(), origin);
    await page.goto("/");
    await settled();
    expect(found).toEqual(allow.map((line) => expect.stringMatching(line)));
  });

  test("reports sockets to another port, in every tab", async () => {
    const other = await serve("");
    const origin = await serve(
      `<script>for (const to of ["${other}", location.origin]) new WebSocket(to.replace("http", "ws"))</script>`,
    );
    const allow = [/^request to another origin: ws:/, /WebSocket connection .* failed/];
    const page = await openPage(origin, { allow });
    const { found } = watchPages(page.context(), origin, allow.slice(1));
    const tab = await page.context().newPage();
    const failed = tab.waitForEvent("console");
    await tab.goto("/");
    await failed;
    expect(found).toEqual([`request to another origin: ${other.replace("http", "ws")}/`]);
  });

  test("may use data and its own blobs", async () => {
    const port = await listen((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<!doctype html>${icon}<title>page</title>
        <script type="module">
          await fetch("data:text/plain,x");
          await fetch(URL.createObjectURL(new Blob(["x"])));
          document.title = "done";
        </script>`);
    });
    const page = await openPage(`http://127.0.0.1:${port}`);
    await page.goto("/");
    await page.waitForFunction(() => document.title === "done");
    expect(await page.title()).toBe("done");
  });

  test("is watched in the tabs that it opens", async () => {
    const origin = await serve("<script>if (opener) console.error('planted')</script>");
    const page = await openPage(origin, { allow: [/planted/] });
    const { found, settled } = watchPages(page.context(), origin);
    await page.goto("/");
    const [tab] = await Promise.all([
      page.waitForEvent("popup"),
      page.evaluate(() => void open("/")),
    ]);
    await tab.waitForLoadState();
    await settled();
    expect(found).toEqual([expect.stringMatching(/planted/)]);
  });

  test("has nothing of earlier pages", async () => {
    const origin = await serve("");
    const first = await openPage(origin);
    await first.goto("/");
    await first.evaluate(() => localStorage.setItem("key", "value"));
    const second = await openPage(origin);
    await second.goto("/");
    expect(await second.evaluate(() => localStorage.length)).toBe(0);
  });

  describe("has the options of its test", () => {
    const query = (media: string) => matchMedia(media).matches;

    test.each([
      [{ colorScheme: "dark" }, "(prefers-color-scheme: dark)"],
      [{ reducedMotion: "no-preference" }, "(prefers-reduced-motion: no-preference)"],
      [{ forcedColors: "active" }, "(forced-colors: active)"],
      [{ viewport: { width: 320, height: 600 } }, "(width: 320px) and (height: 600px)"],
      [{ javaScriptEnabled: false }, "(scripting: none)"],
    ] as const)("%o is %s", async (options, media) => {
      const origin = await serve("");
      const [changed, plain] = [await openPage(origin, options), await openPage(origin)];
      expect([await changed.evaluate(query, media), await plain.evaluate(query, media)]).toEqual([
        true,
        false,
      ]);
    });
  });
});
