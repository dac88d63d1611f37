/** Next.js consumes no body by itself, but an edge route, and any route beside a `proxy.ts`, gets 10 MB of one at most. */
export const fix =
  "let nothing read the request before webhooks(); if the body was cut, raise experimental.proxyClientMaxBodySize in next.config";
