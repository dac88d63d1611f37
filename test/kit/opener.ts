import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { until } from "./until.js";

export interface Opener {
  /** The value of `PATH` that has this opener and nothing else. */
  readonly path: string;
  /** Resolves with the opener's arguments as soon as it is called. */
  readonly opened: () => Promise<Opened>;
}

export interface Opened {
  readonly args: string;
  /** Whether the opener runs in a process group of its own, which Ctrl-C in the terminal does not reach. */
  readonly isDetached: boolean;
}

/** Creates a folder without any program, until the test ends. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-webhooks-opener-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Replaces the program that opens a browser, until the test ends. The replacement ends with this exit code. */
export function opener(exitCode = 0): Opener {
  const path = emptyFolder();
  const file = join(path, "called");
  const script = `#!/bin/sh
kill -0 -$$ 2>/dev/null && group=own || group=shared
echo "$group $*" > "\${0%/*}/called"
exit ${exitCode}
`;
  // The names are those on macOS and on other systems.
  for (const name of ["open", "xdg-open"]) writeFileSync(join(path, name), script, { mode: 0o755 });
  const called = () => (existsSync(file) ? readFileSync(file, "utf8") : "");
  return {
    path,
    async opened() {
      await until(() => called().endsWith("\n"), "the opener is called");
      const [, group, args = ""] = /^(\w+) (.*)\n$/.exec(called()) ?? [];
      return { args, isDetached: group === "own" };
    },
  };
}
