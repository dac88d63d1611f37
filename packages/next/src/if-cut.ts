/**
 * The fix for a body that Next.js cut. Next.js cuts bodies to 10 MB without an error on edge routes and in apps
 * that have a `proxy.ts`.
 */
export const ifCut =
  "if the body was cut, raise experimental.proxyClientMaxBodySize in next.config";
