import type { MarkdownRenderer } from "vitepress";
import { allPages, fileOf, pictureLink, siteLink } from "./pages.js";

/** Makes the links of pages lead to the addresses of the site. */
export function links(md: MarkdownRenderer): void {
  // VitePress passes the path before or after `rewrites`.
  const pageAt = new Map(
    allPages.flatMap((page) => [
      [page, page],
      [fileOf(page), page],
    ]),
  );
  md.core.ruler.push("site-links", ({ env, tokens }) => {
    const page = pageAt.get(String(env?.relativePath));
    if (page === undefined) return;
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const name = { link_open: "href", image: "src" }[token.type] ?? "";
      const link = token.attrGet(name);
      if (link === null) continue;
      token.attrSet(name, name === "src" ? pictureLink(page, link) : siteLink(page, link));
    }
  });
}

/** Keeps `{{` in pages a text: in the templates that VitePress compiles, it would start an expression. */
export function braces(md: MarkdownRenderer): void {
  for (const rule of ["text", "code_inline", "code_block", "html_block"] as const) {
    const render = md.renderer.rules[rule];
    md.renderer.rules[rule] = (...call) =>
      (render?.(...call) ?? "").replaceAll("{{", "&#123;&#123;");
  }
}
