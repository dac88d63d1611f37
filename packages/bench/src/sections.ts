import type { RunSection } from "./section.js";

/** The chapters in their order, loaded by the process that runs them. */
export const sections = {
  verify: async () => (await import("./sections/verify.js")).verify,
  receive: async () => (await import("./sections/receive.js")).receive,
  http: async () => (await import("./sections/http.js")).http,
  redis: async () => (await import("./sections/redis.js")).redis,
  growth: async () => (await import("./sections/growth.js")).growth,
  size: async () => (await import("./sections/size.js")).size,
} satisfies Record<string, () => Promise<RunSection>>;

export type SectionId = keyof typeof sections;

export const isSectionId = (text: string): text is SectionId => Object.hasOwn(sections, text);
