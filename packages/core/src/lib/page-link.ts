// Code in apps' bundles uses these constants, because `pageLink` would add 9 bytes to each bundle.

/** The start of the address of each page of the documentation: the root folder of the repository. */
export const pages = "https://github.com/svc-webhooks/svc-webhooks/blob/main/";

/** The file extension in a page's address. */
export const extension = ".md";

/**
 * Returns the address of a page of the documentation.
 *
 * @param path the page's path in the repository, without `.md`; not a README, because a documentation site has another
 *   address for it
 * @param fragment the fragment of a heading on the page
 *
 * @example
 * ```ts
 * import { pageLink } from "svc-webhooks/outcomes";
 *
 * console.log(pageLink("docs/troubleshooting", "duplicate"));
 * ```
 */
export const pageLink = (path: string, fragment?: string): string =>
  `${pages}${path}${extension}${fragment === undefined ? "" : `#${fragment}`}`;
