import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import { addressOf, root, senderPage } from "../pages.js";
import type { FrameworkFragment } from "./framework.js";
import { frameworks } from "./frameworks.js";
import { serviceReceiver, type ReceiverFragment } from "./receiver.js";
import type { SenderFragment } from "./senders.js";

/** The index of the frameworks' pages. */
export const frameworkIndex = "docs/frameworks/README.md";

/** Returns the path of a framework's page. */
export const pageOf = ({ name }: FrameworkFragment): string => `docs/frameworks/${name}.md`;

const read = (page: string) =>
  existsSync(join(root, page)) ? readFileSync(join(root, page), "utf8") : "";

const list = new Intl.ListFormat("en-GB");

/** Returns the formatted file that mounts a receiver in a framework. */
export const codeOf = (framework: FrameworkFragment, receiver: ReceiverFragment): Promise<string> =>
  format(framework.module(receiver), { parser: "babel-ts", printWidth: 100 });

/** The subcommands that install packages. */
const adding = { npm: "install", bun: "add", deno: "add" } as const;

const typesOnly = /^import type .* from "(?!svc-webhooks)(.+)";$/;

/** Returns the commands that install what a framework's file imports. */
function installOf(
  { manager = "npm", install, types }: FrameworkFragment,
  { imports }: ReceiverFragment,
): string {
  const command = `${manager} ${adding[manager]}`;
  const senders = imports.flatMap((declaration) => typesOnly.exec(declaration)?.[1] ?? []);
  const typed = [...(types === undefined ? [] : [types]), ...senders];
  const prefix = manager === "deno" ? "npm:" : "";
  const first = `${command} ${install}`;
  if (typed.length === 0) return first;
  return `${first}\n${command} --save-dev ${typed.map((name) => prefix + name).join(" ")}`;
}

/** Returns the install line and the file that mounts a receiver in a framework, as Markdown. */
export async function mountingOf(
  framework: FrameworkFragment,
  receiver: ReceiverFragment,
): Promise<string> {
  const place = framework.place?.(receiver);
  return [
    `\`\`\`sh\n${installOf(framework, receiver)}\n\`\`\``,
    ...(place === undefined ? [] : [place]),
    `\`\`\`ts\n${await codeOf(framework, receiver)}\`\`\``,
  ].join("\n\n");
}

/** Returns the part of a framework's page below its code: what to know about the framework with any sender. */
export const notesOf = (framework: FrameworkFragment): string =>
  /^```ts\n[^]*?^```\n([^]*)$/m.exec(read(pageOf(framework)))?.[1]?.trim() ?? "";

/** Returns a framework's page: what its fragment prints, and the notes that the page has. */
export async function frameworkPage(framework: FrameworkFragment): Promise<string> {
  const { title, mountedWith, tested } = framework;
  const [subject, ...versions] = tested;
  const head = `# ${title}

This page mounts a receiver in ${title} with \`${mountedWith}\`. The tests use ${subject} ${list.format(versions)}.`;
  const parts = [head, await mountingOf(framework, serviceReceiver), notesOf(framework)];
  return `${parts.join("\n\n").trim()}\n`;
}

/** Returns the index with the list of all frameworks. */
export function frameworksPage(): string {
  const lines = frameworks.map(({ name, title, mountedWith, tested: [subject, ...versions] }) => {
    const what = subject === title ? "" : `, ${subject}`;
    return `- [${title}](${name}.md)${what} ${versions.join(", ")}: \`${mountedWith}\``;
  });
  return read(frameworkIndex).replace(/^- \[[^\]]+\]\([\w-]+\.md\)[^]*?\n\n/m, () =>
    lines.join("\n").concat("\n\n"),
  );
}

/** Returns the README of an adapter's package, whose first file is that of the framework's page. */
export async function adapterReadme(framework: FrameworkFragment): Promise<string> {
  const code = await codeOf(framework, serviceReceiver);
  return read(`packages/${framework.name}/README.md`).replace(
    /^```ts\n[^]*?^```$/m,
    () => `\`\`\`ts\n${code}\`\`\``,
  );
}

/** Returns the page of a sender in a framework, which only the site has. Its links are addresses of the site. */
export async function pairPage(
  framework: FrameworkFragment,
  { name, title, before, receiver, after }: SenderFragment,
): Promise<string> {
  const own = `/${addressOf(senderPage(name))}`;
  const more = `/${addressOf(pageOf(framework))}`;
  return `${[
    `---\nsender: ${name}\nframework: ${framework.name}\n---`,
    `# ${title} in ${framework.title}`,
    before,
    await mountingOf(framework, receiver),
    `[${framework.title}](${more}) has more about the framework, and [${title}](${own}) is the page for all frameworks.`,
    after,
  ].join("\n\n")}\n`;
}
