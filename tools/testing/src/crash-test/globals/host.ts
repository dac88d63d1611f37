import type * as nodeModule from "node:module";
import { runInThisContext } from "node:vm";

/**
 * The global object of the process. It differs from `globalThis` in Jest, which runs tests in contexts with their own
 * globals, a copy of `process` that receives no errors, and a `require` that cannot load packages that use `import()`.
 */
export const host = runInThisContext("globalThis") as typeof globalThis;

/** In Jest, returns the `require` of the process, or undefined if it is unreachable. Elsewhere, returns undefined. */
export function hostRequire(from: string): NodeJS.Require | undefined {
  if (host === globalThis) return undefined;
  const { process } = host;
  const builtin = (process as Partial<Pick<typeof process, "getBuiltinModule">>).getBuiltinModule;
  const { createRequire } = (builtin?.("node:module") ??
    process.mainModule?.constructor ??
    {}) as Partial<typeof nodeModule>;
  return createRequire?.(from);
}
