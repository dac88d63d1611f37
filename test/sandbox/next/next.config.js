import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));

export default {
  turbopack: { root },
  outputFileTracingRoot: root,
  // The cache costs a quarter of a build's processor time, and CI builds once.
  experimental: { turbopackFileSystemCacheForBuild: false },
};
