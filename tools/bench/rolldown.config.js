import { readdirSync } from "node:fs";
import { defineConfig } from "rolldown";
import { isPackage } from "../build/is-package.js";

// Processes start files of `dist` by name, so each module stays one. Node runs no TypeScript, so the
// modules of the test kit are built too.
export default defineConfig({
  input: readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((file) => /(?<!\.d)\.ts$/.test(file))
    .map((file) => `src/${file}`),
  external: (id) => isPackage(id) && !id.startsWith("@svc-webhooks/kit/"),
  output: { dir: "dist", cleanDir: true, preserveModules: true, preserveModulesRoot: "src" },
});
