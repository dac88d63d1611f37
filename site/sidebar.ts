import type { DefaultTheme } from "vitepress";
import { frameworks } from "./fragments/frameworks.js";
import { addressOf, apiPages, repositoryPages, titleOf } from "./pages.js";

/** A group of the sidebar: its title, and its pages as paths relative to the root of the repository. */
export type Group = readonly [title: string, pages: readonly string[]];

const docs = (...names: readonly string[]): string[] => names.map((name) => `docs/${name}.md`);
const packages = (...names: readonly string[]): string[] =>
  names.map((name) => `packages/${name}/README.md`);
const tools = (...names: readonly string[]): string[] =>
  names.map((name) => `tools/${name}/README.md`);
const examples = (...names: readonly string[]): string[] =>
  names.map((name) => `examples/${name}/README.md`);

const verifiedEvents = repositoryPages.filter((page) =>
  page.startsWith("examples/verified-events/"),
);
const indexOfCommands = ["README", "json", "output"].map((name) => `docs/cli/${name}.md`);
const commands = repositoryPages.filter(
  (page) => page.startsWith("docs/cli/") && !indexOfCommands.includes(page),
);

const senders = repositoryPages.filter(
  (page) => page.startsWith("docs/senders/") && page !== "docs/senders/README.md",
);

/**
 * The doors of the documentation: what a reader wants, and the pages for it. Each page is in one door. The groups after
 * "Start" are parts of it.
 */
const doors: readonly Group[] = [
  [
    "Start",
    [
      "README.md",
      ...docs(
        "README",
        "install",
        "why",
        "frameworks/README",
        "senders/README",
        "raw-body",
        "runtimes",
      ),
    ],
  ],
  ["Frameworks", frameworks.map(({ name }) => `docs/frameworks/${name}.md`)],
  ["Senders", senders],
  [
    "Be safe",
    docs(
      "guarantees",
      "stores",
      "recipes",
      "migrate",
      "verified-events",
      "lists",
      "order",
      "tenants",
      "test-your-handler",
      "crash-test",
      "crash-test-reference",
      "scenarios",
    ),
  ],
  [
    "Run it",
    docs(
      "production",
      "logging",
      "troubleshooting",
      "debug-a-signature",
      "configuration-errors",
      "inbox",
      "queues",
      "operate",
      "scaling",
      "reconcile",
      "upgrading",
      "sandbox-image",
      "with-an-agent",
    ),
  ],
  ["Reference", docs("outcomes", "interface")],
  [
    "Proof",
    [
      ...docs(
        "benchmarks",
        "receivers",
        "guarantees-table",
        "receiver-contract-table",
        "store-contract-table",
        "inbox-contract-table",
        "crash-test-table",
        "interface-table",
        "mutation-testing",
        "decisions",
      ),
      "vectors/README.md",
    ],
  ],
];

/** The sidebars, by the addresses at which they are shown. The order is that of a reader who starts from nothing. */
export const groups: Readonly<Record<string, readonly Group[]>> = {
  "/": [
    ...doors,
    [
      "The project",
      [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        ...docs(
          "contributing/ci",
          "contributing/adapter",
          "contributing/store",
          "contributing/queue",
          "contributing/outcome",
          "contributing/option",
          "contributing/operation",
          "contributing/command",
          "contributing/assumption",
          "contributing/control-action",
          "contributing/page",
          "contributing/driver",
          "contributing/mistake",
        ),
        "SECURITY.md",
        "SUPPORT.md",
        ...docs("releasing"),
      ],
    ],
  ],
  // A part of the door "Reference".
  "/docs/cli": [["The command line", [...indexOfCommands, ...commands]]],
  "/packages/": [
    ["Receive", packages("svc-webhooks", "core", "events", "schemes")],
    ["Adapters", packages("express", "fastify", "hono", "nest", "next", "node")],
    ["Stores", packages("redis", "postgres", "sqlite", "cloudflare")],
    ["Queues", packages("pg-boss", "bullmq")],
    ["Operate", packages("otel", "client")],
  ],
  "/tools/": [["Tools", tools("sandbox", "cli", "testing", "crash-test", "explain", "mcp")]],
  "/examples/": [
    [
      "Node",
      examples(
        "express-basic",
        "express-redis",
        "express-postgres",
        "express-sqlite",
        "fastify",
        "hono-node",
        "nest",
      ),
    ],
    ["Queues", examples("inbox-sqlite", "inbox-postgres", "inbox-redis", "inbox-workers")],
    ["Edge", examples("hono-workers", "cloudflare-worker")],
    ["Next.js", examples("next-app", "next-pages")],
    ["Senders' SDKs", verifiedEvents],
    ["Other", [...examples("stripe-and-github", "full-loop"), "examples/README.md"]],
  ],
};

/** The pages of all groups, in their order. */
export const listedPages: readonly string[] = Object.values(groups).flatMap((sidebar) =>
  sidebar.flatMap(([, pages]) => pages),
);

const item = (page: string) => ({
  text: page === "README.md" ? "Overview and quick start" : titleOf(page),
  link: `/${addressOf(page)}`,
});

/**
 * Returns the sidebars in VitePress's form.
 *
 * @throws Error if a page of the repository is in no group or in several
 */
export function sidebars(): DefaultTheme.SidebarMulti {
  const wrong = repositoryPages.filter(
    (page) => listedPages.filter((listed) => listed === page).length !== 1,
  );
  if (wrong.length > 0) {
    throw new Error(`site/sidebar.ts must list each page once. Check ${wrong.join(", ")}.`);
  }
  const written = Object.entries(groups).map(([address, sidebar]) => [
    address,
    sidebar.map(([text, pages]) => ({ text, items: pages.map(item) })),
  ]);
  const api = {
    text: "API",
    items: apiPages.filter((page) => page !== "site/api/index.md").map(item),
  };
  return Object.fromEntries([...written, ["/api/", [api]]]) as DefaultTheme.SidebarMulti;
}
