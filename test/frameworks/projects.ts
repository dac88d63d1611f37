/** An app of a framework that is installed for its tests alone: it needs Node 22 or has too many packages. */
export interface Project {
  /** The name of the app's folder. */
  readonly name: string;
  /** The framework's page. Default: `name`. */
  readonly page?: string;
  /** The position of the page's block. Default: the first. */
  readonly position?: number;
  readonly version: string;
  /** The file to which the page's code belongs. */
  readonly file: string;
  readonly path: string;
  readonly packages: readonly string[];
  /** The rest of the app. */
  readonly files: Readonly<Record<string, string>>;
  /** The commands for Node. The first one builds, if there are two. */
  readonly commands: readonly (readonly string[])[];
}

export const projects: readonly Project[] = [
  {
    name: "sveltekit",
    version: "3.2.0",
    file: "src/routes/webhooks/+server.ts",
    path: "/webhooks",
    packages: [
      "@sveltejs/kit@3.2.0",
      "@sveltejs/adapter-node@6.0.1",
      "svelte@5.57.3",
      "vite@8.3.8",
    ],
    files: {
      "vite.config.js": `
        import adapter from "@sveltejs/adapter-node";
        import { sveltekit } from "@sveltejs/kit/vite";
        export default { plugins: [sveltekit({ adapter: adapter() })] };`,
      "src/app.html": "<html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>",
    },
    commands: [["node_modules/vite/bin/vite.js", "build"], ["build/index.js"]],
  },
  {
    name: "react-router",
    version: "8.4.0",
    file: "app/routes/webhooks.ts",
    path: "/webhooks",
    packages: [
      ...["react-router", "@react-router/dev", "@react-router/node", "@react-router/serve"].map(
        (name) => `${name}@8.4.0`,
      ),
      "isbot@5",
      "react@19.2.7",
      "react-dom@19.2.7",
      "vite@8.3.8",
    ],
    files: {
      "vite.config.js": `
        import { reactRouter } from "@react-router/dev/vite";
        export default { plugins: [reactRouter()] };`,
      "app/routes.ts": `
        import { route } from "@react-router/dev/routes";
        export default [route("webhooks", "routes/webhooks.ts")];`,
      "app/root.tsx": "export default function Root() { return <html></html>; }",
    },
    commands: [
      ["node_modules/@react-router/dev/bin.cjs", "build"],
      ["node_modules/@react-router/serve/bin.cjs", "build/server/index.js"],
    ],
  },
  {
    name: "remix",
    version: "2.17.5",
    file: "app/routes/webhooks.ts",
    path: "/webhooks",
    packages: ["@remix-run/express@2.17.5", "express@4.22.3"],
    files: {
      // Remix's build compiles a route to this; Node 22 runs TypeScript itself.
      "server.js": `
        import { createRequestHandler } from "@remix-run/express";
        import express from "express";
        import * as module from "./app/routes/webhooks.ts";
        const id = "routes/webhooks";
        const build = {
          routes: { [id]: { id, path: "webhooks", module } },
          entry: { module: { default: () => new Response() } },
          assets: { entry: { imports: [], module: "" }, routes: {}, url: "", version: "" },
          future: {},
        };
        express().all("*", createRequestHandler({ build })).listen(3000);`,
    },
    commands: [["server.js"]],
  },
  {
    name: "astro",
    version: "7.3.5",
    file: "src/pages/webhooks.ts",
    path: "/webhooks",
    packages: ["astro@7.3.5", "@astrojs/node@11.1.6"],
    files: {
      "astro.config.mjs": `
        import node from "@astrojs/node";
        export default { adapter: node({ mode: "standalone" }) };`,
    },
    commands: [["node_modules/astro/bin/astro.mjs", "build"], ["dist/server/entry.mjs"]],
  },
  {
    name: "nuxt",
    version: "4.5.2",
    file: "server/routes/webhooks.post.ts",
    path: "/webhooks",
    packages: ["nuxt@4.5.2"],
    files: {
      "nuxt.config.ts": `export default defineNuxtConfig({ compatibilityDate: "2026-01-01" });`,
    },
    commands: [["node_modules/nuxt/bin/nuxt.mjs", "build"], [".output/server/index.mjs"]],
  },
  {
    name: "firebase",
    version: "7.4.0",
    file: "index.js",
    path: "/",
    packages: [
      "firebase-functions@7.4.0",
      "firebase-admin@13.10.0",
      "@google-cloud/functions-framework@5.0.5",
    ],
    files: {},
    // Firebase's functions run on this framework.
    commands: [
      ["node_modules/@google-cloud/functions-framework/build/src/main.js", "--target=webhook"],
    ],
  },
];
