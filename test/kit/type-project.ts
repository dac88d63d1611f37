import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { root, tsc, type Compiler } from "./programs.js";

export const compilers = ["typescript", "typescript5"] as const;

const compilerOptions = {
  strict: true,
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  target: "ES2023",
  // The core's types use Request, Response, Headers and AbortSignal.
  lib: ["ES2023", "DOM"],
  module: "NodeNext",
  types: [],
  // The packages resolve like copies, without the workspace's own dependencies.
  preserveSymlinks: true,
};

/**
 * Creates a project outside of the workspace, in which only these packages are installed. The returned function
 * compiles a module of it, and resolves to what the compiler prints.
 */
export function typeProject(...packages: readonly string[]) {
  const project = realpathSync(mkdtempSync(join(tmpdir(), "svc-webhooks-types-")));
  afterAll(() => rmSync(project, { recursive: true, force: true }));
  for (const name of packages) {
    const target = join(project, "node_modules", name);
    mkdirSync(join(target, ".."), { recursive: true });
    symlinkSync(realpathSync(join(root, "node_modules", name)), target);
  }
  return async (compiler: Compiler, name: string, code: string) => {
    const folder = join(project, `${name}-${compiler}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "index.ts"), code);
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, include: ["index.ts"] }),
    );
    const { stdout, exitCode } = await tsc(compiler, ["-p", folder], { cwd: folder });
    return { stdout, exitCode };
  };
}
