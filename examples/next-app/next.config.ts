import { fileURLToPath } from "node:url";
import type { NextConfig } from "next";

// The root is the folder of node_modules. In its own repository, the app needs neither of these options.
const root = fileURLToPath(new URL("../..", import.meta.url));

const config: NextConfig = { turbopack: { root }, outputFileTracingRoot: root };

export default config;
