import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fragmentsOf } from "../test/kit/fragments.js";
import { addressOf, allPages, markdownAt, textOf } from "./pages.js";
import { withPolicy } from "./policy.js";

/**
 * The addresses of pages that have moved, and their new ones, relative to the base of the site. A new address may have
 * a fragment. A static page never gets the fragment of the old address, so readers of that one start at the new one's.
 */
export const redirects: Readonly<Record<string, string>> = {
  "docs/contract-table": "docs/runtimes",
  "docs/schemes": "docs/senders/",
  "docs/cli/domains-add": "docs/cli/service#domains-add",
  "docs/cli/domains-list": "docs/cli/service#domains-list",
  "docs/cli/domains-verify": "docs/cli/service#domains-verify",
  "docs/cli/emails-send": "docs/cli/service#emails-send",
  "docs/cli/endpoints-archive": "docs/cli/service#endpoints-archive",
  "docs/cli/endpoints-create": "docs/cli/service#endpoints-create",
  "docs/cli/endpoints-list": "docs/cli/service#endpoints-list",
  "docs/cli/endpoints-rotate-secret": "docs/cli/service#endpoints-rotate-secret",
  "docs/cli/event-types-list": "docs/cli/service#event-types-list",
  "docs/cli/events-get": "docs/cli/service#events-get",
  "docs/cli/events-list": "docs/cli/service#events-list",
  "docs/cli/events-redeliver": "docs/cli/service#events-redeliver",
  "docs/cli/events-redeliver-failed": "docs/cli/service#events-redeliver-failed",
  "docs/cli/sends-get": "docs/cli/service#sends-get",
  "docs/cli/trigger": "docs/cli/service#trigger",
};

const withoutSlash = (address: string) => address.replace(/\/$/, "");

/** Returns what is wrong with rows of the table: an old address is that of a page, or a new one leads nowhere. */
export function problemsOf(rows: Readonly<Record<string, string>>): readonly string[] {
  const pages = new Map(allPages.map((page) => [addressOf(page), page]));
  const addresses = new Set(Array.from(pages.keys(), withoutSlash));
  return Object.entries(rows).flatMap(([from, to]) => {
    const [address = "", fragment] = to.split("#");
    const page = pages.get(address);
    if (addresses.has(withoutSlash(from))) return [`${from} is the address of a page.`];
    if (page === undefined) return [`${from} leads to ${address}, which is not a page.`];
    if (fragment === undefined || fragmentsOf(textOf(page)).includes(fragment)) return [];
    return [`${from} leads to ${to}, but ${page} has no such heading.`];
  });
}

/** Returns the page for an old address. It has no script: the browser loads the new address because of `refresh`. */
export const redirectPage = (to: string, base: string, host: string): string =>
  withPolicy(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="0; url=${base}${to}">
<link rel="canonical" href="${host}${base}${to.replace(/#.*/, "")}">
<link rel="icon" href="data:,">
<title>This page has moved</title>
</head>
<body>
<main>
<h1>This page has moved</h1>
<p>It is now at <a href="${base}${to}">${base}${to}</a>.</p>
</main>
</body>
</html>
`);

/**
 * Returns the files of the old addresses by their paths: a page at each, and Markdown at the address with `.md`.
 *
 * @throws Error if a row of the table is wrong
 */
export function redirectFiles(base: string, host: string): Readonly<Record<string, string>> {
  const problems = problemsOf(redirects);
  if (problems.length > 0) throw new Error(`Check site/redirects.ts. ${problems.join(" ")}`);
  return Object.fromEntries(
    Object.entries(redirects).flatMap(([from, to]) => {
      const [address = "", fragment] = to.split("#");
      const moved = [markdownAt(address), fragment].filter(Boolean).join("#");
      const markdown = `# This page has moved\n\nIt is now at [${moved}](${host}${base}${moved}).\n`;
      return [
        [`${from}.html`, redirectPage(to, base, host)],
        [markdownAt(from), markdown],
      ];
    }),
  );
}

/** Writes the files of the old addresses to the folder of the site. */
export function writeRedirects(folder: string, base: string, host: string): void {
  for (const [name, text] of Object.entries(redirectFiles(base, host))) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}
