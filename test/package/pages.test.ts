import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { readmes, textOf } from "./readme.js";

const pages = [...readmes(), "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].filter((page) =>
  page.endsWith(".md"),
);

const withoutCode = (page: string) => textOf(page).replaceAll(/^```[^]*?^```/gm, "");

/** Returns the fragments under which a page's headings are linked (GitHub's rule). */
const fragmentsOf = (page: string) =>
  Array.from(withoutCode(page).matchAll(/^#+ (.*)$/gm), ([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );

const linksIn = (page: string) =>
  Array.from(withoutCode(page).matchAll(/\]\((?!https?:)([^)\s]*)\)/g), ([, link = ""]) => link);

/** Returns whether a link of a page leads to a file, and to a heading if it has a fragment. */
function isAlive(page: string, link: string): boolean {
  const [path = "", fragment] = link.split("#");
  const target = path === "" ? page : join(dirname(page), path);
  if (!existsSync(join(root, target))) return false;
  if (fragment === undefined) return true;
  const isFolder = statSync(join(root, target)).isDirectory();
  return fragmentsOf(isFolder ? join(target, "README.md") : target).includes(fragment);
}

test.each(pages)("every link of %s leads to a file and a heading that exist", (page) => {
  expect(linksIn(page).filter((link) => !isAlive(page, link))).toEqual([]);
});

test("README.md links to every page in docs and to every example", () => {
  const wanted = ["docs", "examples"].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => folder === "examples" || name.endsWith(".md"))
      .map((name) => `${folder}/${name}`),
  );
  const links = new Set(linksIn("README.md"));
  expect(wanted.filter((path) => !links.has(path))).toEqual([]);
});
