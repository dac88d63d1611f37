import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError, type ConfigErrorCode } from "@svc-webhooks/core";
import { outcomeTexts, pageLink } from "@svc-webhooks/core/outcomes";
import { fragmentsOf } from "@svc-webhooks/kit/fragments";
import { root } from "@svc-webhooks/kit/programs";
import { expect, test } from "vitest";
import { packageFolders } from "../../tools/build/package-folders.js";
import { declarationsOf } from "./declarations.js";
import { readmes, textOf } from "./readme.js";

const read = (file: string) => readFileSync(join(root, file), "utf8");

/** The sources that may print a link. The benchmarks are not published, and write a page. */
const sources = packageFolders
  .filter((folder) => folder !== "tools/bench" && existsSync(join(root, folder, "src")))
  .flatMap((folder) =>
    readdirSync(join(root, folder, "src"), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => `${folder}/src/${file}`),
  );

/** Returns the lines of a source that are not comments. */
const codeOf = (file: string) => read(file).replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, "");

const [start = "", end = ""] = pageLink("\0").split("\0");

/** Returns the `path#fragment` of the link in a text. */
function targetIn(text: string): string {
  const [address = "", fragment] = (/https:\S+/.exec(text)?.[0] ?? "").split("#");
  if (!address.startsWith(start) || !address.endsWith(end)) {
    throw new Error(`${text} has no link that is formed as pageLink() does.`);
  }
  const path = address.slice(start.length, address.length - end.length);
  return fragment === undefined ? path : `${path}#${fragment}`;
}

const configErrorCodes = declarationsOf("@svc-webhooks/core").literalsOf(
  "ConfigErrorCode",
) as readonly ConfigErrorCode[];

const codes = Object.keys(outcomeTexts);

// The texts for edge platforms are built as a file that no entry exports.
const edgeTexts = (await import(join(root, "packages/core/dist/texts/brief.js"))) as {
  readonly advise: (code: string) => string;
};

const targets = new Set([
  ...Object.values(outcomeTexts).map(({ link }) => targetIn(link)),
  ...codes.map((code) => targetIn(edgeTexts.advise(code))),
  ...configErrorCodes.map((code) => targetIn(new ConfigError(code, "x", "Text.").message)),
  ...sources.flatMap((file) =>
    Array.from(
      codeOf(file).matchAll(/pageLink\(\s*"([^"]+)"(?:,\s*"([^"]+)")?,?\s*\)/g),
      ([, path = "", fragment]) => targetIn(pageLink(path, fragment)),
    ),
  ),
]);

const pages = readmes();

/** The page that each path of a link leads to, on the forge and on the documentation site. */
const places: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  "the forge": new Map(pages.map((page) => [page.replace(/\.md$/, ""), page])),
  "the documentation site": new Map(
    pages.map((page) => [page.replace(/\.md$/, "").replace(/\/README$/, ""), page]),
  ),
};

test.each(Object.entries(places))(
  "every printed link leads to a heading on %s",
  (_place, files) => {
    expect(targets.size).toBeGreaterThan(codes.length + configErrorCodes.length);
    const dead = [...targets].filter((target) => {
      const [path = "", fragment] = target.split("#");
      const page = files.get(path);
      if (page === undefined) return true;
      return fragment !== undefined && !fragmentsOf(textOf(page)).includes(fragment);
    });
    expect(dead).toEqual([]);
  },
);

test("links are made with pageLink(), and those to codes only where this file reads them", () => {
  const own = /github\.com\/svc-webhooks|docs\/[\w/-]+\.md/;
  const others = sources.filter((file) => own.test(codeOf(file)) || read(file).includes(start));
  expect(others).toEqual(["packages/core/src/lib/page-link.ts"]);
  const computed = /\$\{pages\}docs|pageLink\((?!\s*"[^"]+"(?:,\s*"[^"]+")?,?\s*\))/;
  const toCodes = sources.filter((file) => computed.test(codeOf(file)));
  expect(toCodes.toSorted()).toEqual([
    "packages/core/src/errors.ts",
    "packages/core/src/outcomes.ts",
    "packages/core/src/texts/brief.ts",
  ]);
});

test("the alert rules link to the explanation of the outcome", () => {
  const links = Array.from(
    read("packages/otel/dashboards/alerts.yaml").matchAll(/runbook_url: "(.+)"/g),
    ([, link]) => link,
  );
  expect(links).toEqual([pageLink("docs/troubleshooting", "{{ $labels.svc_webhooks_outcome }}")]);
});
