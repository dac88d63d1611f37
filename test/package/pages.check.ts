import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fragmentsOf, headingsOf, withoutBlocks } from "@svc-webhooks/kit/fragments";
import { root } from "@svc-webhooks/kit/programs";
import { codeIn } from "@svc-webhooks/kit/tables";
import { expect, test } from "vitest";
import { packageFolders } from "../../tools/build/package-folders.js";
import { readmes, textOf } from "./readme.js";

/** The trees of the houses that have one of their own. */
const trees = ["site", ...packageFolders]
  .map((folder) => `${folder}/ARCHITECTURE.md`)
  .filter((tree) => existsSync(join(root, tree)));

const guides = ["ARCHITECTURE.md", ...trees, "CONTRIBUTING.md"];

const pages = [...readmes(), ...guides, "CHANGELOG.md", "vectors/README.md"];

const repository = "https://github.com/svc-webhooks/svc-webhooks";

/** Returns the links of a page to files of the repository: relative to the page, or from `/` for the root. */
const linksIn = (page: string) =>
  Array.from(
    withoutBlocks(textOf(page)).matchAll(/\]\(([^)\s]*)\)|^\[[^\]]+\]: (\S+)$/gm),
    ([, inline, listed]) => inline ?? listed ?? "",
  )
    .map((link) => link.replace(new RegExp(`^${repository}/(?:blob|tree)/main/`), "/"))
    .filter((link) => !/^[a-z]+:/.test(link));

/** Returns whether a link of a page leads to a file, and to a heading if it has a fragment. */
function isAlive(page: string, link: string): boolean {
  const [path = "", fragment] = link.split("#");
  const target = path === "" ? page : path.startsWith("/") ? path : join(dirname(page), path);
  if (!existsSync(join(root, target))) return false;
  if (fragment === undefined) return true;
  const isFolder = statSync(join(root, target)).isDirectory();
  return fragmentsOf(textOf(isFolder ? join(target, "README.md") : target)).includes(fragment);
}

test.each(pages)("every link of %s leads to a file and a heading that exist", (page) => {
  expect(linksIn(page).filter((link) => !isAlive(page, link))).toEqual([]);
});

/** Exists only after `npm run docs`. */
const builtSite = "site/dist";

/** Returns the paths that a page names in its sentences. */
function pathsIn(page: string): readonly string[] {
  const path = /^[\w.][\w.-]*(?:\/[\w.-]+)+$|^[\w-]+\.(?:md|ts|json)$/;
  return codeIn(withoutBlocks(textOf(page))).filter((code) => path.test(code));
}

test("the guides name files", () => {
  expect(pathsIn("ARCHITECTURE.md").length).toBeGreaterThan(10);
});

test.each(guides)("%s names only files that exist", (page) => {
  const paths = pathsIn(page);
  expect(paths.filter((one) => one !== builtSite && !existsSync(join(root, one)))).toEqual([]);
});

test("only pages of packages, which npm shows, link to files by the repository's address", () => {
  const found = pages
    // A release adds the same entries to the changelogs of packages.
    .filter((page) => !/^(?:packages|tools)\//.test(page) && page !== "CHANGELOG.md")
    .filter((page) => linksIn(page).some((link) => link.startsWith("/")));
  expect(found).toEqual([]);
});

test.each(pages)(
  "%s has one heading of level 1, which is its first line, and skips no level",
  (page) => {
    const levels = headingsOf(textOf(page)).map(({ level }) => level);
    expect(textOf(page)).toMatch(/^# \S/);
    expect(levels.filter((level) => level === 1)).toHaveLength(1);
    expect(levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)).toEqual([]);
  },
);

/** The elements that the forge's pages and the templates of Vue show in the same way. */
const elements = "a|br|details|img|kbd|picture|source|sub|summary|sup";

/** Markup that only one of the forge and the documentation site understands, outside code. */
const markup: Readonly<Record<string, RegExp>> = {
  "a container": /^ *:::.*/gm,
  "an interpolation": /\{\{.*/g,
  "an element": new RegExp(`</?(?!(?:${elements})\\b)[a-z][\\w-]*[\\s/>].*`, "gi"),
  "front matter": /^---\n[^]*?\n---$/g,
  "an attribute of a heading": /^#.*\{#.*/gm,
  "a table of contents": /^\[\[toc\]\]/gim,
  "a footnote": /\[\^\w+\].*/g,
};

test.each(pages)(
  "%s has only markup that the forge and the documentation site understand",
  (page) => {
    const text = withoutBlocks(textOf(page)).replaceAll(/(`+)[^`]+\1/g, "");
    const found = Object.entries(markup).flatMap(([what, pattern]) =>
      (text.match(pattern) ?? []).map((line) => `${what}: ${line}`),
    );
    expect(found).toEqual([]);
  },
);

/** The most bytes of a page of the documentation. */
const mostBytes = 30_000;

/** The page of figures, and the pages that are about to be divided. */
const long: ReadonlySet<string> = new Set(["docs/benchmarks.md"]);

test.each(readmes().filter((page) => page.startsWith("docs/") && !long.has(page)))(
  "%s has at most 30 kB",
  (page) => {
    expect(statSync(join(root, page)).size).toBeLessThanOrEqual(mostBytes);
  },
);

test.each([
  ["docs/README.md", "docs", /^(?!README).*\.md$/],
  ["examples/README.md", "examples", /^[^.]+$/],
])("the list of %s has everything in %s once", (page, folder, kind) => {
  const wanted = readdirSync(join(root, folder)).flatMap((name) => {
    const index = `${name}/README.md`;
    return kind.test(name) ? [name] : existsSync(join(root, folder, index)) ? [index] : [];
  });
  const listed = Array.from(
    textOf(page).matchAll(/^- \[.+?\]\(([^)]+)\)/gm),
    ([, link = ""]) => link,
  );
  expect(listed.toSorted()).toEqual(wanted.toSorted());
});
