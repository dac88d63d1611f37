import { createMarkdownRenderer, defineLoader, type SiteConfig } from "vitepress";
import { examples, story, type Example } from "../../landing.js";
import { fileURLToPath } from "node:url";

export interface LandingData {
  /** The tabs, with their code as highlighted HTML. */
  readonly tabs: readonly (Pick<Example, "name" | "address"> & { readonly html: string })[];
  /** The rows of the table, each cell as HTML. */
  readonly rows: readonly (readonly string[])[];
}

export declare const data: LandingData;

const root = fileURLToPath(new URL("../../..", import.meta.url));

declare global {
  var VITEPRESS_CONFIG: SiteConfig;
}

export default defineLoader({
  watch: ["../../../README.md", "../../../docs/frameworks/*.md", "../../../docs/why.md"],
  async load(): Promise<LandingData> {
    const { markdown, site } = globalThis.VITEPRESS_CONFIG;
    const md = await createMarkdownRenderer(root, markdown, site.base);
    const tabs = examples().map(({ name, address, language, code }) => ({
      name,
      address,
      html: md.render(`\`\`\`${language}\n${code}\`\`\``),
    }));
    // The links of the cells are those of their page.
    const cell = (text: string) => md.renderInline(text, { relativePath: "docs/why.md" });
    return { tabs, rows: story().map((row) => row.map(cell)) };
  },
});
