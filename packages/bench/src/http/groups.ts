import type { Group } from "./contender.js";

/** Loaded by name, so that a server has nothing but its own platform in its process. */
export const groups = {
  node: async () => (await import("./node.js")).node,
  express: async () => (await import("./express.js")).express5,
  hono: async () => (await import("./hono.js")).hono,
} satisfies Record<string, () => Promise<Group>>;

export type GroupId = keyof typeof groups;
