import type { TestProjectConfiguration } from "vitest/config";
import { needsOwnProcess } from "./suites.js";

/** Runs files of `npm test` in as few processes as possible. */
export function projectsOf(files: readonly string[]): TestProjectConfiguration[] {
  const alone = files.filter(needsOwnProcess);
  return [
    {
      extends: true,
      // Files share a process and the modules that it has loaded. Loading them for each file doubles the cost.
      test: {
        name: "together",
        include: files.filter((file) => !alone.includes(file)),
        setupFiles: ["test/clean-up.ts"],
        isolate: false,
      },
    },
    { extends: true, test: { name: "alone", include: alone, sequence: { groupOrder: 1 } } },
  ];
}
