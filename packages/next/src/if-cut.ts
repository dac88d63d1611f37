/** An edge route, and any route beside a `proxy.ts`, gets 10 MB of a body at most, and nobody tells. */
export const ifCut =
  "if the body was cut, raise experimental.proxyClientMaxBodySize in next.config";
