import { fragmentOf } from "../test/kit/fragments.js";
import { siteLink, textOf } from "./pages.js";

/** A tab of the landing page: a framework, and the page and heading below which its code is the first block. */
interface Tab {
  readonly name: string;
  readonly page: string;
  readonly heading: string;
}

const framework = (page: string, name: string, heading = name): Tab => ({
  name,
  page: `docs/frameworks/${page}.md`,
  heading,
});

const tabs: readonly Tab[] = [
  { name: "Express", page: "README.md", heading: "svc-webhooks" },
  framework("hono", "Hono"),
  framework("next", "Next.js"),
  framework("fastify", "Fastify"),
  framework("nest", "NestJS"),
  framework("koa", "Koa"),
  framework("lambda", "Lambda", "AWS Lambda"),
];

export interface Example {
  readonly name: string;
  /** The page that contains the block, and the address of its section on the site. */
  readonly page: string;
  readonly address: string;
  readonly language: string;
  readonly code: string;
}

/** Returns the lines below a heading, up to the next heading of the same or a higher level. */
function sectionOf(page: string, heading: string): string {
  const lines = textOf(page).split("\n");
  const start = lines.findIndex((line) => line.replace(/^#+ /, "") === heading && line[0] === "#");
  if (start === -1) throw new Error(`${page} has no heading "${heading}".`);
  return lines.slice(start + 1).join("\n");
}

/**
 * Returns the code of the tabs, byte for byte as the pages have it.
 *
 * @throws Error if a heading or a block is missing
 */
export function examples(): readonly Example[] {
  return tabs.map(({ name, page, heading }) => {
    const [, language, code] =
      /^```([jt]s)\b[^\n]*\n([^]*?)^```$/m.exec(sectionOf(page, heading)) ?? [];
    if (language === undefined || code === undefined) {
      throw new Error(`${page} has no block of code below "${heading}".`);
    }
    const address = siteLink("site/index.md", `../${page}#${fragmentOf(heading)}`);
    return { name, page, address, language, code };
  });
}

/**
 * Returns the table of docs/why.md: what happens, with a hand-written receiver and with this one, as Markdown.
 *
 * @throws Error if the page does not contain the table
 */
export function story(): readonly (readonly [
  happens: string,
  handWritten: string,
  receiver: string,
])[] {
  const [table] = /^\| what happens[^]*?\n\n/m.exec(textOf("docs/why.md")) ?? [];
  if (table === undefined) throw new Error("docs/why.md has no table of what happens.");
  return table
    .trim()
    .split("\n")
    .slice(2)
    .map((line) => {
      const [happens = "", handWritten = "", receiver = ""] = line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim());
      return [happens, handWritten, receiver];
    });
}
