import { sign } from "@svc-webhooks/core";
import { outcomeText } from "@svc-webhooks/core/outcomes";
import { cpuRatio, linearForTenfold } from "@svc-webhooks/kit/cpu-ratio";
import { github } from "@svc-webhooks/schemes";
import { senders } from "@svc-webhooks/schemes/senders";
import { createMarkdownRenderer } from "vitepress";
import { expect, test } from "vitest";
import { emptyForm, questionOf, type Form } from "../../site/explain/form.js";
import { resultOf, type Result } from "../../site/explain/result.js";
import { examples } from "../../site/landing.js";
import { braces } from "../../site/links.js";
import { markdownOf, summaryOf } from "../../site/markdown.js";
import { addressOf, repositoryPages, root, siteLink, textOf } from "../../site/pages.js";
import { withPolicy } from "../../site/policy.js";
import { problemsOf, redirectFiles, redirectPage, redirects } from "../../site/redirects.js";
import { searchable } from "../../site/search.js";
import { groups, sidebars } from "../../site/sidebar.js";

test("each page of the repository is in one group of site/sidebar.ts", () => {
  expect(sidebars()).toHaveProperty(
    ["/packages/", 0, "items", 0, "link"],
    "/packages/svc-webhooks/",
  );
});

test("docs/README.md has the groups of the sidebar, in the same order", () => {
  const inIndex = textOf("docs/README.md")
    .split(/^## /m)
    .map((section) => [
      section.split("\n")[0],
      Array.from(section.matchAll(/^- \[.+?\]\(([^)]+)\)/gm), ([, link]) => `docs/${link}`)
        // The command line has a sidebar of its own.
        .filter((page) => page !== "docs/cli/README.md"),
    ])
    .filter(([, pages]) => pages?.length);
  const inSidebar = groups["/"]
    ?.map(([title, pages]) => [
      title,
      pages.filter((page) => /^docs\/(?!README)[^/]+(?:\/README\.md)?$/.test(page)),
    ])
    .filter(([, pages]) => pages?.length);
  expect(inIndex).toEqual(inSidebar);
});

test.each([
  ["README.md", "overview"],
  ["docs/README.md", "docs/"],
  ["docs/why.md", "docs/why"],
  ["packages/core/README.md", "packages/core/"],
  ["site/index.md", ""],
  ["site/api/@svc-webhooks/core/engine.md", "api/core/engine"],
  ["site/api/svc-webhooks/inbox.md", "api/core/inbox"],
  ["site/api/svc-webhooks/next/pages.md", "api/next/pages"],
  ["site/api/@svc-webhooks/mcp.md", "api/mcp"],
  ["site/api/@svc-webhooks/testing/store.md", "api/testing/store"],
])("the address of %s is /%s", (page, address) => {
  expect(addressOf(page)).toBe(address);
});

const forge = "https://github.com/svc-webhooks/svc-webhooks";

test.each([
  ["docs/why.md", "stores.md#redis", "/docs/stores#redis"],
  ["docs/why.md", "../README.md", "/overview"],
  ["README.md", "packages/core", "/packages/core/"],
  ["README.md", "packages/core/README.md#options", "/packages/core/#options"],
  ["packages/core/README.md", `${forge}/blob/main/docs/stores.md#redis`, "/docs/stores#redis"],
  [
    "ARCHITECTURE.md",
    "packages/core/src/store.ts",
    `${forge}/blob/main/packages/core/src/store.ts`,
  ],
  ["README.md", "examples/quick-start", `${forge}/tree/main/examples/quick-start`],
  ["CONTRIBUTING.md", "site/pages.ts", `${forge}/blob/main/site/pages.ts`],
  ["docs/why.md", "../site/explain.md", "/explain"],
  ["docs/why.md", "cli/README.md#exit-codes", "/docs/cli/#exit-codes"],
  ["README.md", "#packages", "#packages"],
  ["README.md", "https://example.com/#a", "https://example.com/#a"],
])("in %s, a link to %s leads to %s", (page, link, target) => {
  expect(siteLink(page, link)).toBe(target);
});

test.each([
  ["../site/nowhere.md", "site/nowhere.md"],
  ["../../", ".."],
  ["%E0%A4%A.md", "docs/%E0%A4%A.md"],
])("a link to %s is an error", (link, path) => {
  expect(() => siteLink("docs/why.md", link)).toThrow(
    `docs/why.md links to ${link}, but the repository has no ${path}.`,
  );
});

test("a link to a file that does not exist is an error that names the page", () => {
  expect(() => siteLink("docs/why.md", "nowhere.md")).toThrow(
    "docs/why.md links to nowhere.md, but the repository has no docs/nowhere.md.",
  );
});

test.each(repositoryPages)(
  "%s has a sentence for llms.txt, and links that lead somewhere",
  (page) => {
    expect(summaryOf(page)).toMatch(/\w.*[.!?)]$/);
    expect(markdownOf(page, "/")).not.toBe("");
  },
);

test("each tab of the landing page links to the section that has its code", () => {
  const links = examples().map(({ name, address }) => [name, address]);
  expect(links).toContainEqual(["Express", "/overview#svc-webhooks"]);
  expect(links).toContainEqual(["Next.js", "/docs/frameworks/next#nextjs"]);
  expect(links).toContainEqual(["Lambda", "/docs/frameworks/lambda#aws-lambda"]);
});

test.each(["previous", "others"] as const)(
  "white space around a secret is an error: %s",
  async (field) => {
    const read = await questionOf({ ...emptyForm, secret: "a", [field]: "b\nc " });
    expect(read).toMatchObject({ errors: { [field]: expect.stringContaining("white space") } });
  },
);

test("headers are read without the white space around their values, in linear time", async () => {
  const spaces = " ".repeat(5_000);
  const reading = (between: string) => () =>
    questionOf({
      ...emptyForm,
      sender: "stripe",
      secret: "a",
      headers: `a: b ${between}c${between}\nd:\ne:${between}`,
    });
  const ratio = await cpuRatio(reading(spaces.repeat(10)), reading(spaces));
  expect(ratio).toBeLessThan(linearForTenfold);
  expect(await reading(spaces)()).toMatchObject({
    question: {
      headers: [
        ["a", `b ${spaces}c`],
        ["d", ""],
        ["e", ""],
      ],
    },
  });
});

/** Explains a form like the page of `/explain`. */
async function explained(form: Partial<Form>): Promise<Result> {
  const read = await questionOf({ ...emptyForm, body: "{}", secret: "whsec_test", ...form });
  if ("errors" in read) throw new Error(JSON.stringify(read.errors));
  return resultOf(read.question);
}

const linesOf = (headers: Readonly<Record<string, string>>) =>
  Object.entries(headers)
    .map((pair) => pair.join(": "))
    .join("\n");

test("the explanation of a request of the service states its verdict", async () => {
  expect(await explained({ signature: await sign("{}", "whsec_test") })).toEqual({
    isGenuine: true,
    verdict: "The signature is genuine.",
    texts: [
      "A receiver with this secret accepts this body. If yours does not, it has another secret, or it verifies other bytes.",
    ],
  });
  expect(await explained({ signature: "sha256=z" })).toEqual({
    isGenuine: false,
    verdict: "The signature is not genuine.",
    texts: ["No known mistake explains this signature.", expect.stringMatching(/^Print the /)],
  });
  const signature = await sign("{}", "whsec_other");
  expect(await explained({ signature, others: "whsec_other" })).toMatchObject({
    verdict: "The signature is not genuine.",
    texts: [],
    mistake: "other_secret",
  });
});

test("the explanation of a request of another sender states its outcome", async () => {
  const options = { secret: "whsec_test", deliveryId: "dlv_1", type: "ping" };
  const headers = linesOf(await senders.github.sign("{}", options));
  expect(await explained({ sender: "github", headers })).toEqual({
    isGenuine: true,
    verdict: "The signature is genuine.",
    texts: ["The outcome is processed.", "The delivery id is dlv_1.", "The type is ping."],
  });
  const { happened, cause, fix } = outcomeText("signature_mismatch", github()) ?? {};
  expect(await explained({ sender: "github", headers, secret: "another" })).toEqual({
    isGenuine: false,
    verdict: "The request is refused with signature_mismatch.",
    texts: [
      happened,
      "No known mistake explains this signature.",
      expect.stringMatching(/^This body has 2 bytes, /),
    ],
    cause,
    fix,
  });
  expect(await explained({ sender: "stripe", headers })).toMatchObject({
    verdict: "The request is refused with signature_missing.",
    mistake: "other_scheme",
    fix: "Choose github as the sender here, and use its scheme in the receiver.",
  });
});

test.each([
  ["a paragraph", "a {{ 6 * 7 }}"],
  ["HTML in a paragraph", "a <b>{{ 6 * 7 }}</b>"],
  ["code in a paragraph", "`{{ 6 * 7 }}`"],
  ["an indented block", "    {{ 6 * 7 }}"],
  ["a block of HTML", "<div>{{ 6 * 7 }}</div>"],
])("braces in %s remain a text", async (_what, markdown) => {
  const md = await createMarkdownRenderer(root, { config: braces });
  expect(md.render(markdown)).toContain("&#123;&#123; 6 * 7 }}");
});

test("a page's Markdown has pictures with the addresses of their files", () => {
  const [, picture] = /^!\[[^\]]*\]\((.*)\)$/m.exec(markdownOf("README.md", "/")) ?? [];
  expect(picture).toMatch(/^https:\/\/raw\.githubusercontent\.com\/.+\.webp$/);
});

test("the policy of a page allows its own inline scripts, and no others", () => {
  const html = withPolicy('<head></head><script src="a.js"></script><script>go()</script>');
  expect(html).toContain("default-src 'none'; script-src 'self' 'sha256-");
  expect(html.match(/sha256-/g)).toHaveLength(1);
});

test("each old address leads to a page, or to a heading of it", () => {
  expect(problemsOf(redirects)).toEqual([]);
  const rows = {
    "docs/why": "docs/stores",
    "docs/cli": "docs/stores",
    "docs/a": "docs/nowhere",
    "docs/b": "docs/cli",
    "docs/c": "docs/why#nowhere",
    "docs/d": "docs/cli/#exit-codes",
  };
  expect(problemsOf(rows)).toEqual([
    "docs/why is the address of a page.",
    "docs/cli is the address of a page.",
    "docs/a leads to docs/nowhere, which is not a page.",
    "docs/b leads to docs/cli, which is not a page.",
    "docs/c leads to docs/why#nowhere, but docs/why.md has no such heading.",
  ]);
});

test("the page for an old address loads the new one without a script", () => {
  const html = redirectPage("docs/stores#redis", "/base/", "https://docs.test");
  expect(html).toContain('<meta http-equiv="refresh" content="0; url=/base/docs/stores#redis">');
  expect(html).toContain('<link rel="canonical" href="https://docs.test/base/docs/stores">');
  expect(html).toContain('<a href="/base/docs/stores#redis">');
  expect(html).toContain("default-src 'none'; script-src 'self'; ");
  expect(html).not.toContain("<script");
});

test("each old address has a page and a Markdown file", () => {
  const files = redirectFiles("/base/", "https://docs.test");
  expect(Object.keys(files)).toEqual(
    Object.keys(redirects).flatMap((address) => [`${address}.html`, `${address}.md`]),
  );
  expect(files["docs/cli/trigger.html"]).toContain('href="/base/docs/cli/service#trigger"');
  expect(files["docs/cli/trigger.md"]).toContain(
    "(https://docs.test/base/docs/cli/service.md#trigger)",
  );
});

test("the search finds prose, and neither code nor the API", () => {
  const page =
    "# A title of it\n\nThe [store](stores.md) is down.\n\n```ts\ncode();\n```\n\n## Next\n\nDetails.";
  expect(searchable("docs/stores.md", page).replaceAll(/\n+/g, "|")).toBe(
    "# A title of it|store down.|## Next|Details.",
  );
  expect(searchable("examples/a/README.md", page)).not.toContain("Next");
  expect(searchable("site/api/core.md", page)).toBe("");
  expect(searchable("docs/contributing/store.md", page)).toBe("# A title of it");
  expect(searchable("packages/nest/README.md", page)).toBe("# A title of it");
});
