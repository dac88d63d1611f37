/**
 * Returns the body of the page that is served for an address that does not exist.
 *
 * @param advice a sentence before the links
 */
export const notFoundBody = (base: string, advice: string): string => `<main class="not-found">
  <h1>This page does not exist</h1>
  <p>${advice}</p>
  <ul>
    <li><a href="${base}overview">Overview and quick start</a></li>
    <li><a href="${base}docs/troubleshooting">Troubleshooting</a>: symptoms, causes and fixes</li>
    <li><a href="${base}docs/frameworks/">Frameworks and platforms</a></li>
  </ul>
</main>`;

// The search needs scripts.
const withoutScripts = (base: string) => notFoundBody(base, "Start from one of these pages:");

/** Adds that body to 404.html for readers without scripts: VitePress renders it in the browser only. */
export const withNotFound = (html: string, file: string, base: string): string =>
  file.endsWith("404.html")
    ? html.replace('<div id="app">', `<noscript>${withoutScripts(base)}</noscript><div id="app">`)
    : html;
