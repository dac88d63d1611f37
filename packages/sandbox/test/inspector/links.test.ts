import { describe, expect, it } from "vitest";
import { pageActions } from "../../src/inspector/actions.js";
import { all, busy, crawl, fieldsOf, isDocument, openPage, problems } from "./support.js";

const names = Object.keys(pageActions);

describe("what links and forms lead to", () => {
  it("exists, is complete and has the linked places", { timeout: 120_000 }, async () => {
    const opened = await busy();
    const { pages, broken } = await crawl(opened, 2);
    expect(broken).toEqual([]);
    const documents = pages.filter(isDocument);
    expect(documents.length).toBeGreaterThan(60);
    expect(documents.flatMap((page) => problems(page, names))).toEqual([]);
    const forms = documents.flatMap(({ dom }) => all(dom, "form[method=post]"));
    const actions = forms.map((form) => Object.fromEntries(fieldsOf(form))["do"]);
    expect(new Set(actions)).toEqual(new Set(names));
  });

  it("exists in a sandbox that was just started", async () => {
    const opened = await openPage();
    const { pages, broken } = await crawl(opened, 2);
    expect(broken).toEqual([]);
    expect(pages.length).toBeGreaterThan(10);
    expect(pages.filter(isDocument).flatMap((page) => problems(page, names))).toEqual([]);
  });

  it("is a control route for each action", async () => {
    const { call } = await openPage();
    const { data } = (await call("GET /_sandbox/")).body;
    for (const { route } of Object.values(pageActions))
      expect(data).toContain(`POST /_sandbox/${route.replaceAll(/\{(\w+)\}/g, ":$1")}`);
  });
});
