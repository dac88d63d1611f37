import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { packages, publicPackages } from "../tools/build/package-folders.js";
import { frameworks } from "./fragments/frameworks.js";

/** The folder of the repository. */
export const root: string = fileURLToPath(new URL("..", import.meta.url));

/** The repository on the forge. */
export const forge = "https://github.com/svc-webhooks/svc-webhooks";

const rootPages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "SUPPORT.md"];

const markdownIn = (folder: string): string[] =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".md"))
        .map((file) => posix.join(folder, file.replaceAll("\\", "/")))
        .toSorted()
    : [];

const foldersIn = (folder: string): string[] =>
  readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);

/** The pages of the repository, as paths relative to its root. */
export const repositoryPages: readonly string[] = [
  ...rootPages,
  ...markdownIn("docs"),
  ...[
    ...publicPackages.map(({ folder }) => folder),
    "examples",
    ...foldersIn("examples"),
    ...foldersIn("examples/verified-events"),
    "vectors",
  ].map((folder) => `${folder}/README.md`),
].filter((page) => existsSync(join(root, page)));

/** The API reference, which TypeDoc generates before VitePress starts. */
export const apiPages: readonly string[] = markdownIn("site/api");

/** Returns the path of a sender's page. */
export const senderPage = (sender: string): string => `docs/senders/${sender}.md`;

const otherPages = new Set(["README", "hmac", "write-a-scheme"]);

/** The senders that have a page, by their names in addresses. */
export const senders: readonly string[] = markdownIn("docs/senders")
  .map((page) => posix.basename(page, ".md"))
  .filter((name) => !otherPages.has(name));

/** Returns the path of the page of a sender in a framework. */
export const pairOf = (sender: string, framework: string): string =>
  `site/senders/${sender}/${framework}.md`;

/** The pages of each sender in each framework, which are written before VitePress starts. */
export const pairs: readonly string[] = senders.flatMap((sender) =>
  frameworks.map(({ name }) => pairOf(sender, name)),
);

/** The pages that only the site has. */
const sitePages = [
  "site/index.md",
  "site/explain.md",
  "site/packages/index.md",
  "site/tools/index.md",
  ...apiPages,
  ...pairs,
];

/** All pages of the site. */
export const allPages: readonly string[] = [...repositoryPages, ...sitePages];

/**
 * Returns the address of a page, relative to the base of the site: `docs/why`, `packages/core/`, `overview`. A page with
 * a folder of its name is the index of that folder, because hosts redirect the address of a folder: `docs/cli/`. In the
 * API, an address names the package, whether the facade exports it or not: `api/express`, `api/core/inbox`.
 */
export function addressOf(page: string): string {
  if (page === "README.md") return "overview";
  const address = page
    .replace(/^site\//, "")
    .replace(/^api\/svc-webhooks(?=\.md$|\/(?:adapter|inbox|outcomes|reconcile)\.md$)/, "api/core")
    .replace(/^api\/@?svc-webhooks\//, "api/")
    .replace(/(^|\/)(?:README|index)\.md$/, "$1");
  const below = page.replace(/\.md$/, "/");
  return address.replace(/\.md$/, allPages.some((path) => path.startsWith(below)) ? "/" : "");
}

/** Returns the file, relative to `site/dist`, from which VitePress makes the page: `packages/core/index.md`. */
export const fileOf = (page: string): string => {
  const address = addressOf(page);
  return address === "" || address.endsWith("/") ? `${address}index.md` : `${address}.md`;
};

/** Returns the address of the Markdown of the page at an address: `docs/why.md`, `packages/core.md`. */
export const markdownAt = (address: string): string =>
  `${address.replace(/\/$/, "") || "index"}.md`;

/** Returns the address of a page's Markdown. */
export const markdownAddressOf = (page: string): string => markdownAt(addressOf(page));

const pages: ReadonlySet<string> = new Set(repositoryPages);
const onForge = new RegExp(String.raw`^${forge}/(?:blob|tree)/main/([^#]*)(#.*)?$`);

/** Decodes the path of a link. A path that cannot be decoded remains as it is, and leads to no file. */
function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/**
 * Returns the target of a link on the site: the address of a page, with a leading slash and without the base, or
 * the forge's address of another file. Links to other hosts, and fragments of the same page, remain as they are.
 *
 * @param page the path of the page that contains the link, relative to the root
 * @throws Error if the link leads to no file of the repository
 */
export function siteLink(page: string, link: string): string {
  const [, absolute, itsFragment = ""] = onForge.exec(link) ?? [];
  if (absolute === undefined && /^(?:[a-z][a-z\d+.-]*:|#|\/)/i.test(link)) return link;
  const [relative = "", fragment] = link.split("#");
  const path = posix
    .normalize(absolute ?? posix.join(posix.dirname(page), decoded(relative)))
    .replace(/\/$/, "");
  const suffix =
    absolute === undefined ? (fragment === undefined ? "" : `#${fragment}`) : itsFragment;
  const target = [path, posix.join(path, "README.md")].find((file) => pages.has(file));
  if (target !== undefined) return `/${addressOf(target)}${suffix}`;
  if (sitePages.includes(path)) return `/${addressOf(path)}${suffix}`;
  if (path.startsWith("..") || !existsSync(join(root, path))) {
    throw new Error(`${page} links to ${link}, but the repository has no ${path}.`);
  }
  const kind = statSync(join(root, path)).isDirectory() ? "tree" : "blob";
  return `${forge}/${kind}/main/${path}${suffix}`;
}

/** Returns the address of a file on the forge. */
export const forgeLink = (file: string): string => `${forge}/blob/main/${file}`;

const rawForge = forge.replace("github.com", "raw.githubusercontent.com");

/** Returns the address of a file's content, if a link leads to the file on the forge. */
export const rawLink = (link: string): string =>
  link.replace(`${forge}/blob/main/`, `${rawForge}/main/`);

/** Returns the source of a picture: the file in the repository, also if the page names it at the forge. */
export const pictureLink = (page: string, link: string): string =>
  link.startsWith(`${rawForge}/main/`)
    ? posix.relative(posix.dirname(page), link.slice(`${rawForge}/main/`.length))
    : link;

/** Returns the Markdown of a page. */
export const textOf = (page: string): string => readFileSync(join(root, page), "utf8");

/** Returns the text of a page's first heading. */
export function titleOf(page: string): string {
  const [, title] = /^# (.+)$/m.exec(textOf(page)) ?? [];
  if (title === undefined) throw new Error(`${page} has no heading of level 1.`);
  return title.replaceAll(/`|\\/g, "");
}

/** Returns every Markdown file below the root that is not a page, for VitePress to leave out. */
export const excluded: readonly string[] = [
  "**/node_modules/**",
  "**/dist/**",
  "**/.*/**",
  "test/**",
  "packed/**",
  "CHANGELOG.md",
  "{packages,tools}/*/!(README).md",
  "{packages,tools}/*/*/**",
  ...packages.filter((item) => !publicPackages.includes(item)).map(({ folder }) => `${folder}/**`),
  "examples/!(verified-events)/*/**",
];
