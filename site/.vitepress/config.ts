import { fileURLToPath } from "node:url";
import { defineConfig, type DefaultTheme } from "vitepress";
import { fragmentOf } from "../../test/kit/fragments.js";
import { writePairs } from "../fragments/pairs.js";
import { braces, links } from "../links.js";
import { summaryOf, writeMarkdown } from "../markdown.js";
import { withNotFound } from "../not-found.js";
import {
  allPages,
  excluded,
  fileOf,
  forge,
  forgeLink,
  markdownAddressOf,
  repositoryPages,
  root,
  senderPage,
  senders,
} from "../pages.js";
import { withPolicy } from "../policy.js";
import { writeRedirects } from "../redirects.js";
import { accessibleSearchBox } from "../search-box.js";
import { searchable } from "../search.js";
import { sidebars } from "../sidebar.js";

// The path below which a host serves the site, and the host's origin, for links in texts that are read elsewhere.
const { DOCS_BASE: base = "/", DOCS_HOST: host = "" } = process.env;

const search: DefaultTheme.Config["search"] = {
  provider: "local",
  options: {
    _render: (text, env, md) => md.render(searchable(env.relativePath, text), env),
    // A word that only starts like the one in the query, or resembles it, counts little.
    miniSearch: {
      searchOptions: {
        boost: { title: 1.5, titles: 2, text: 1 },
        fuzzy: 0.15,
        weights: { prefix: 0.1, fuzzy: 0.05 },
      },
    },
  },
};

await writePairs();

export default defineConfig({
  lang: "en",
  title: "svc-webhooks",
  description: "A TypeScript framework for reliably receiving webhooks",
  base,
  srcDir: root,
  srcExclude: [...excluded],
  outDir: fileURLToPath(new URL("../dist", import.meta.url)),
  cacheDir: fileURLToPath(new URL("cache", import.meta.url)),
  rewrites: Object.fromEntries(allPages.map((page) => [page, fileOf(page)])),
  cleanUrls: true,
  // A page would otherwise repeat the table of all chunks in its HTML.
  metaChunk: true,
  // Links would otherwise load the pages that they lead to as soon as they can be seen.
  router: { prefetchLinks: false },
  head: [["link", { rel: "icon", href: "data:," }]],
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify: fragmentOf },
    config(md) {
      links(md);
      braces(md);
    },
  },
  themeConfig: {
    nav: [
      { text: "Documentation", link: "/overview" },
      { text: "Packages", link: "/packages/core/" },
      { text: "Tools", link: "/tools/cli/" },
      { text: "Examples", link: "/examples/express-basic/" },
      { text: "Sandbox", link: "/tools/sandbox/" },
      { text: "Explain a signature", link: "/explain" },
      { text: "API", link: "/api/" },
    ],
    sidebar: sidebars(),
    outline: [2, 3],
    socialLinks: [{ icon: "github", link: forge, ariaLabel: "The repository" }],
    search,
  },
  transformPageData(page) {
    const file = page.filePath;
    const isRepositorys = repositoryPages.includes(file);
    if (isRepositorys || file.startsWith("site/api/")) {
      page.description = summaryOf(file);
      page.frontmatter["markdown"] = markdownAddressOf(file);
    }
    if (isRepositorys) page.frontmatter["source"] = forgeLink(file);
    const sender = senders.find((name) => senderPage(name) === file);
    if (sender !== undefined) page.frontmatter["sender"] = sender;
  },
  transformHtml: (html, file) => withPolicy(withNotFound(html, file, base)),
  buildEnd({ outDir }) {
    writeMarkdown(outDir, host + base);
    writeRedirects(outDir, base, host);
  },
  vite: {
    plugins: [accessibleSearchBox],
    publicDir: false,
    build: { chunkSizeWarningLimit: 2_000 },
  },
});
