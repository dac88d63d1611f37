import { withoutBlocks } from "../test/kit/fragments.js";

/** The pages that only their titles find: recipes for contributors, and adapters, which pages of frameworks explain. */
const titleOnly = /^(?:docs\/contributing|packages\/(?:express|fastify|hono|nest|next|node))\//;

/** The pages of pairs of a sender and a framework, whose texts other pages have. A query has the words of the title. */
const pair = /^(?:site\/)?senders\//;

/** The pages of which only the first section is found: they name many subjects that other pages explain. */
const firstSectionOnly =
  /^(?:examples\/|docs\/(?:benchmarks|cli\/json|decisions|mutation-testing|releasing|.+-table)\.md|(?:ARCHITECTURE|CONTRIBUTING)\.md|vectors\/)/;

/** The pages whose tables are for looking up, and whose rows would outweigh their text. */
const withoutTables =
  /^(?:docs\/(?:benchmarks|receivers|runtimes|senders\/README|.+-table)|tools\/sandbox\/README)\.md$/;

/** The lines that the pages of all senders have. */
const sameOnAllPages = /^(?:\[Install svc-webhooks\]|- \*\*Sources\*\*).*$/gm;

/** Words and endings that are in nearly every section, so that finding them says nothing. */
const commonWords = new RegExp(
  String.raw`(?<![\w-])(?:${(
    "a after again all also an and another any are as at be because been before both but by can " +
    "deliveries delivery do does each event events every first for from has have how if in " +
    "instead into is it its may more most must never new no not nothing of on once one only or " +
    "other out over own receiver receivers same so some still such than that the their them " +
    "then there these they this those through to too two until up use used uses was what when " +
    "where which while who will with without would you your"
  ).replaceAll(" ", "|")}|svc-webhooks)(?![\w-]) ?|'s\b`,
  "gi",
);

/**
 * Returns the part of a page's Markdown that the search finds: nothing of the API, whose names would rank before the
 * pages that explain them, and neither blocks of code nor common words, which would double the index.
 *
 * @param file the path of the page's file, before or after VitePress's `rewrites`
 */
export function searchable(file: string, markdown: string): string {
  if (/^(?:site\/)?api\//.test(file)) return "";
  if (pair.test(file)) {
    return markdown.replace(
      /^---[^]*?^---$[^]*?(^# (.*) webhooks in (.*)$)[^]*$/m,
      "$1\n\n$2 webhook $3",
    );
  }
  if (titleOnly.test(file)) return /^# .*$/m.exec(markdown)?.[0] ?? "";
  const prose = withoutBlocks(markdown)
    .replaceAll(sameOnAllPages, "")
    .replaceAll(/!?\[([^\]]*)\]\([^)\s]*\)/g, "$1")
    .replaceAll(/^(?!#).*$/gm, (line) => line.replaceAll(commonWords, ""));
  const text = withoutTables.test(file) ? prose.replaceAll(/^\|.*$/gm, "") : prose;
  return firstSectionOnly.test(file) ? (text.split(/^#{2,} /m)[0] ?? "") : text;
}
