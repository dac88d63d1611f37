import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { codeIn } from "@svc-webhooks/kit/tables";

const textOf = (page: string) =>
  readFileSync(join(root, page), "utf8").replaceAll(/^```[^]*?^```/gm, "");

/** Returns the texts in backticks that are paths relative to the root, not code or package names. */
const pathsIn = (text: string) =>
  codeIn(text).filter((code) => /^[\w.][\w.-]*(?:\/[\w.-]+)+$|^[\w-]+\.(?:md|ts|json)$/.test(code));

const linksIn = (text: string) =>
  Array.from(text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g), ([, target = ""]) => target);

/** A folder that exists only after `npm run docs`, which `npm test` does not need. */
const builtSite = "site/dist";

test.each(["ARCHITECTURE.md", "CONTRIBUTING.md"])("%s names only files that exist", (page) => {
  const text = textOf(page);
  const paths = [...pathsIn(text), ...linksIn(text)];
  expect(paths.length).toBeGreaterThan(5);
  expect(paths.filter((path) => path !== builtSite && !existsSync(join(root, path)))).toEqual([]);
});

test.each([
  "an adapter",
  "a store",
  "a queue",
  "an outcome",
  "an option",
  "an operation",
  "a control action",
  "a driver",
  "a mistake",
])("CONTRIBUTING.md lists the steps to add %s", (subject) => {
  const [, section = ""] = textOf("CONTRIBUTING.md").split(`\n## Add ${subject}\n`);
  const [steps = ""] = section.split("\n## ");
  expect(steps.match(/^\d\. /gm)?.length).toBeGreaterThan(4);
  expect(pathsIn(steps).length).toBeGreaterThan(3);
});
