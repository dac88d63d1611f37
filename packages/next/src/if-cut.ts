/**
 * The fix for a truncated body. On edge routes and in apps that have a `proxy.ts` (`middleware.ts` in Next.js 15),
 * Next.js truncates bodies to 10 MB without an error.
 */
export const ifCut =
  "if the body was cut, raise experimental.proxyClientMaxBodySize in next.config (in Next.js 15, middlewareClientMaxBodySize)";
