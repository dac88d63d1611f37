import { describe, expect, test } from "vitest";
import { actionNames as names, actions } from "../../src/control/actions.js";
import { all, busy, crawl, fieldsOf, isDocument, openPage, problems } from "./support.js";

describe("what links and forms lead to", () => {
  test("exists, is complete and has the linked places", async () => {
    const opened = await busy();
    await opened.control("POST checkpoints", {});
    await opened.control("POST recording/start");
    const recording = await opened.get();
    await opened.control("POST recording/stop", {});
    const { pages, broken } = await crawl(opened, 2);
    expect(broken).toEqual([]);
    const documents = [recording, ...pages.filter(isDocument)];
    expect(documents.length).toBeGreaterThan(60);
    expect(documents.flatMap((page) => problems(page, names))).toEqual([]);
    const forms = documents.flatMap(({ dom }) => all(dom, "form[method=post]"));
    const shown = forms.map((form) => Object.fromEntries(fieldsOf(form))["do"]);
    expect(new Set(shown)).toEqual(new Set(names));
  });

  test("exists in a sandbox that was just started", async () => {
    const opened = await openPage();
    const { pages, broken } = await crawl(opened, 2);
    expect(broken).toEqual([]);
    expect(pages.length).toBeGreaterThan(10);
    expect(pages.filter(isDocument).flatMap((page) => problems(page, names))).toEqual([]);
  });

  test("is a control route for each action", async () => {
    const { call } = await openPage();
    const { data } = (await call("GET /_sandbox/")).body;
    for (const { route } of Object.values(actions))
      expect(data).toContain(`POST /_sandbox/${route}`);
  });
});
