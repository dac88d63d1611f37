import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { withoutBlocks } from "../test/kit/fragments.js";
import {
  apiPages,
  markdownAddressOf,
  markdownAt,
  rawLink,
  siteLink,
  textOf,
  titleOf,
} from "./pages.js";
import { groups, listedPages } from "./sidebar.js";

const codeBlocks = /^(```[^]*?^```|~~~[^]*?^~~~)/gm;

/** Returns a page's Markdown with links that lead to the Markdown of other pages. */
export function markdownOf(page: string, base: string): string {
  const target = (link: string) => {
    const address = siteLink(page, link);
    if (!address.startsWith("/")) return address;
    const [path = "", fragment] = address.split("#");
    return `${base}${markdownAt(path.slice(1))}${fragment === undefined ? "" : `#${fragment}`}`;
  };
  return textOf(page)
    .split(codeBlocks)
    .map((text) =>
      text.startsWith("```") || text.startsWith("~~~")
        ? text
        : text.replaceAll(
            /(!\[[^\]]*)?\]\(([^)\s]+)\)/g,
            (_link, picture: string | undefined, link: string) =>
              picture === undefined
                ? `](${target(link)})`
                : `${picture}](${rawLink(siteLink(page, link))})`,
          ),
    )
    .join("");
}

/** Paragraphs that lead through the documentation, or list sections: they do not state what a page is about. */
const isGuide = (text: string) => /^This page is step |^\[[^\]]*\]\([^)]*\)(?: · |$)/.test(text);

const paragraphsOf = (text: string) => text.split(/\n{2,}/).map((paragraph) => paragraph.trim());

const isProse = (text: string) => /^[\p{L}`[*_]/u.test(text) && !isGuide(text);

/** Returns the first sentence of a page's first paragraph, without markup. */
export function summaryOf(page: string): string {
  const text = textOf(page).replace(/^---[^]*?^---$/m, "");
  // The page of a command starts with its help in a block of code, which starts with its usage.
  const help = paragraphsOf(text.match(/^# .+\n\n```text\n(Usage: [^]*?)^```/m)?.[1] ?? "").slice(
    1,
  );
  const first = [...help, ...paragraphsOf(withoutBlocks(text))].find(isProse) ?? "";
  const plain = first
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[`*]|<[^>]*>/g, "")
    .replaceAll(/\s+/g, " ");
  return /^.*?[.!?:](?= |$)/.exec(plain)?.[0].replace(/:$/, ".") ?? plain;
}

/** Returns an index of all pages: https://llmstxt.org/ describes the form. */
function llmsText(base: string): string {
  const line = (page: string) =>
    `- [${titleOf(page)}](${base}${markdownAddressOf(page)}): ${summaryOf(page)}`.replace(
      /: $/,
      "",
    );
  const sections = [...Object.values(groups).flat(), ["API", apiPages] as const];
  return [
    "# svc-webhooks",
    `> ${summaryOf("README.md")}`,
    ...sections.map(([title, pages]) => `## ${title}\n\n${pages.map(line).join("\n")}`),
  ]
    .join("\n\n")
    .concat("\n");
}

/**
 * Writes what programs read: the Markdown of each page at its address with `.md`, `llms.txt`, and `llms-full.txt`
 * with the text of all pages but the API's.
 */
export function writeMarkdown(folder: string, base: string): void {
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  const texts = listedPages.map(
    (page) => [markdownAddressOf(page), markdownOf(page, base)] as const,
  );
  for (const [address, text] of texts) write(address, text);
  for (const page of apiPages) write(markdownAddressOf(page), markdownOf(page, base));
  write("llms.txt", llmsText(base));
  const whole = texts.map(([address, text]) => `<!-- ${base}${address} -->\n\n${text.trim()}\n`);
  write("llms-full.txt", whole.join("\n"));
}
