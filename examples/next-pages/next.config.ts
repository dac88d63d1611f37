import { fileURLToPath } from "node:url";
import type { NextConfig } from "next";

// Where node_modules is. In a repository of its own, the app needs neither of these options.
const root = fileURLToPath(new URL("../..", import.meta.url));

const config: NextConfig = { turbopack: { root }, outputFileTracingRoot: root };

export default config;
