import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "@svc-webhooks/kit/programs";
import { facade, publicPackages } from "@svc-webhooks/kit/workspace";
import { defaultTreeAdapter as tree, parse, type DefaultTreeAdapterMap } from "parse5";
import { sized } from "@svc-webhooks/kit/sized";
import { beforeAll, describe, expect, test } from "vitest";
import { readmes } from "../../package/readme.js";
import { redirects } from "../../../site/redirects.js";
import { builtBelow, builtSite, fileAt, pagesIn, samplesIn } from "./site.js";

type Node = DefaultTreeAdapterMap["node"];

const forge = "https://github.com/svc-webhooks/svc-webhooks/";

interface BuiltPage {
  /** The values of all `href` and `src`. */
  readonly links: readonly string[];
  readonly ids: ReadonlySet<string>;
  /** The links of the sidebar. */
  readonly sidebar: readonly string[];
  readonly text: string;
}

function read(file: string): BuiltPage {
  const [links, ids, sidebar]: [string[], Set<string>, string[]] = [[], new Set(), []];
  const texts: string[] = [];
  const visit = (one: Node, isInSidebar: boolean) => {
    if (tree.isTextNode(one)) texts.push(one.value);
    let isInside = isInSidebar;
    if (tree.isElementNode(one)) {
      for (const { name, value } of one.attrs) {
        if (name === "id") ids.add(value);
        if (name === "class" && value.split(" ").includes("VPSidebar")) isInside = true;
        if ((name === "href" || name === "src") && !value.startsWith("data:")) links.push(value);
        if (name === "href" && isInside) sidebar.push(value);
      }
    }
    if ("childNodes" in one) for (const child of one.childNodes) visit(child, isInside);
  };
  visit(parse(readFileSync(file, "utf8")), false);
  return { links, ids, sidebar, text: texts.join(" ") };
}

const cache = new Map<string, BuiltPage>();

function pageAt(file: string): BuiltPage {
  const known = cache.get(file) ?? read(file);
  cache.set(file, known);
  return known;
}

/** Returns why a link leads nowhere, or undefined if it leads somewhere. */
function problemOf(site: string, base: string, page: string, link: string): string | undefined {
  if (link.startsWith(forge)) {
    const [, path] = /^(?:blob|tree)\/main\/([^#]*)/.exec(link.slice(forge.length)) ?? [];
    return path === undefined || existsSync(join(root, path)) ? undefined : "no such file";
  }
  if (/^[a-z]+:/.test(link)) return undefined;
  const [path = "", fragment] = link.split("#");
  if (path !== "" && !path.startsWith(base)) return `outside of ${base}`;
  const target = path === "" ? join(site, page) : fileAt(site, `/${path.slice(base.length)}`);
  if (target === undefined) return "no such page";
  if (fragment === undefined || fragment === "" || !target.endsWith(".html")) return undefined;
  return pageAt(target).ids.has(decodeURIComponent(fragment)) ? undefined : "no such element";
}

const deadIn = (site: string, base: string) =>
  samplesIn(site).flatMap((page) =>
    pageAt(join(site, page)).links.flatMap((link) => {
      const problem = problemOf(site, base, page, link);
      return problem === undefined ? [] : [`${page}: ${link}: ${problem}`];
    }),
  );

/** The pages of the repository whose addresses do not follow from their paths. */
const otherAddresses = new Map([["README.md", "overview"]]);

/** Returns the address of a page of the repository, relative to the base. */
const addressOf = (page: string) =>
  otherAddresses.get(page) ?? page.replace(/README\.md$/, "").replace(/\.md$/, "");

const isPublic = (page: string) =>
  !/^(?:packages|tools)\//.test(page) ||
  publicPackages.some(({ folder }) => folder === dirname(page));

const pages = [...readmes().filter(isPublic), "ARCHITECTURE.md", "CONTRIBUTING.md"];

const untracked = () =>
  execFileSync("git", ["status", "--porcelain", "--untracked-files=all"], {
    cwd: root,
    encoding: "utf8",
  });

describe("the built site", () => {
  let site = "";
  let before = "";
  beforeAll(async () => {
    before = untracked();
    site = await builtSite();
  });

  test("is written without a change that git sees", () => {
    expect(untracked()).toBe(before);
  });

  test("has each page of the repository, in one sidebar that lists it once", () => {
    const wrong = pages.filter((page) => {
      const file = fileAt(site, `/${addressOf(page)}`);
      const listed = file ? pageAt(file).sidebar : [];
      return listed.filter((link) => link === `/${addressOf(page)}`).length !== 1;
    });
    expect(pages.length).toBeGreaterThan(100);
    expect(wrong).toEqual([]);
  });

  const indexed = ["/docs/cli/", "/docs/", "/packages/", "/tools/", "/examples/"];

  test.each(indexed)("lists at %s the pages below it", (folder) => {
    const { links } = pageAt(fileAt(site, folder) ?? "");
    const below = pages
      .map((page) => `/${addressOf(page)}`)
      .filter((one) => indexed.find((first) => one.startsWith(first)) === folder);
    expect(below.length).toBeGreaterThan(5);
    expect(links).toEqual(expect.arrayContaining(below));
  });

  test("has no page next to a folder of its name, to which hosts redirect", () => {
    const all = pagesIn(site);
    const folders = all.map((page) => page.replace(/\.html$/, "/"));
    expect(folders.filter((folder) => all.some((page) => page.startsWith(folder)))).toEqual([]);
  });

  test("has no link to a page, an element or a file that does not exist", () => {
    expect(deadIn(site, "/")).toEqual([]);
    const links = samplesIn(site).flatMap((page) => pageAt(join(site, page)).links);
    expect(links.length).toBeGreaterThan(5_000);
  });

  // The site is built again for each path.
  test.each(sized([], ["/svc-webhooks/"]))("works below %s", async (path) => {
    const below = await builtBelow(path);
    expect(deadIn(below, path)).toEqual([]);
    expect(pagesIn(below)).toEqual(pagesIn(site));
  });

  const snapshot = readFileSync(
    join(root, "test/package/__snapshots__/exports.check.ts.snap"),
    "utf8",
  );

  /** Types that adapters export again, and that their frameworks explain. */
  const ofFrameworks = new Set(["DynamicModule", "FastifyPluginAsync"]);
  const documented = publicPackages.filter(({ name }) => name !== facade);

  test.each(documented.flatMap(({ entries }) => entries))("explains all of %s", (entry) => {
    const [, names = ""] =
      new RegExp(`\\[\`${entry} exports [^\\]]*\\] = \`\\n?"([^"]*)"`).exec(snapshot) ?? [];
    const exported = names.split("\n").map((line) => line.replace(/^type /, ""));
    const address = `/api/${entry.replace(/^@svc-webhooks\//, "")}`;
    expect(exported.length).toBeGreaterThan(0);
    const { ids } = pageAt(fileAt(site, address) ?? fileAt(site, `${address}/`) ?? "");
    const missing = exported.filter((name) => !ids.has(name.toLowerCase()));
    expect(missing.filter((name) => !ofFrameworks.has(name))).toEqual([]);
  });

  test("has a page at each old address", () => {
    const isServed = (address: string) => fileAt(site, `/${address}`) !== undefined;
    expect(Object.keys(redirects).filter((address) => !isServed(address))).toEqual([]);
  });

  test("llms.txt lists each page of the sidebars once, with a sentence and its Markdown", () => {
    const lines = readFileSync(join(site, "llms.txt"), "utf8").match(/^- .*$/gm) ?? [];
    const addresses = lines.map((line) => /\]\(\/([^)]+)\)(?:: \S.*)?$/.exec(line)?.[1] ?? line);
    const listed = pages.map((page) => `${addressOf(page).replace(/\/$/, "")}.md`);
    expect(addresses).toEqual(expect.arrayContaining(listed));
    expect(new Set(addresses).size).toBe(addresses.length);
    expect(addresses.filter((path) => !existsSync(join(site, path)))).toEqual([]);
  });

  test("the Markdown of each page links to the Markdown of others", () => {
    const files = pages.map((page) => `${addressOf(page).replace(/\/$/, "")}.md`);
    const dead = files.flatMap((file) => {
      const text = readFileSync(join(site, file), "utf8").replaceAll(/^```[^]*?^```/gm, "");
      return Array.from(text.matchAll(/(?<!!)\]\(\/([^)#\s]+)/g), ([, path = ""]) => path).filter(
        (path) => !existsSync(join(site, path)),
      );
    });
    expect(dead).toEqual([]);
  });
});
