import type { Bar } from "../race.js";
import type { Contender } from "./contender.js";

/** Contenders on the same platform, and what is promised of them. */
export interface Group {
  readonly title: string;
  readonly contenders: readonly Contender[];
  readonly bars: readonly Bar[];
}

/** Loaded by name, so that a server has nothing but its own platform in its process. */
export const groups = {
  node: async () => (await import("./node.js")).node,
  express: async () => (await import("./express.js")).express5,
  hono: async () => (await import("./hono.js")).hono,
} satisfies Record<string, () => Promise<Group>>;

export type GroupId = keyof typeof groups;
