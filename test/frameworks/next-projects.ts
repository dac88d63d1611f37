import type { Project } from "./projects.js";

const version = "16.4.5";

/** The apps of Next.js, one for each block of its page. */
export const nextProjects: readonly Project[] = (
  [
    ["next", 1, "app/api/webhooks/route.ts"],
    ["next-pages", 2, "pages/api/webhooks.ts"],
  ] as const
).map(([name, position, file]) => ({
  name,
  page: "next",
  position,
  version,
  file,
  path: "/api/webhooks",
  packages: [
    `next@${version}`,
    "react@19.2.7",
    "react-dom@19.2.7",
    "typescript@5.9.3",
    "@types/node@22",
    "@types/react@19",
  ],
  files: {
    // Without it, Next.js takes the workspace for the root of the app.
    "next.config.mjs": `
      const root = import.meta.dirname;
      export default { turbopack: { root }, outputFileTracingRoot: root };`,
  },
  commands: [
    ["node_modules/next/dist/bin/next", "build"],
    ["node_modules/next/dist/bin/next", "start"],
  ],
}));
