import { readFileSync } from "node:fs";
import { join } from "node:path";
import { npx } from "@svc-webhooks/kit/npx";
import { root } from "@svc-webhooks/kit/programs";
import { expect } from "vitest";

/** The results of Vitest's reporter `json`. */
interface Report {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/**
 * Runs tests on a version of Node, with the packages in a folder. They are files of `engine/`, next to this file or to
 * that of another suite. Resolves to the number of tests.
 */
export async function runEngineTests(
  version: string,
  folder: string,
  files: readonly string[],
  env: NodeJS.ProcessEnv = {},
  suite: "pg-boss" | "queues" | "effects" = "pg-boss",
): Promise<number> {
  const report = join(folder, `${version}-${files.join("-")}.json`);
  const node = ["--yes", "--package", `node@${version}`, "node"];
  const vitest = ["node_modules/vitest/vitest.mjs", "run", ...files];
  const options = ["--config", `test/${suite}/engine/vitest.config.ts`, "--outputFile", report];
  const { exitCode, stdout, stderr } = await npx(
    [...node, ...vitest, ...options, "--reporter", "json", "--reporter", "default"],
    { cwd: root, env: { ENGINE_FOLDER: folder, ...env } },
  );
  // The summaries of chaos runs.
  for (const line of stdout.match(/seed \d+: .*/g) ?? []) console.log(line);
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const problems = [
    ...tests
      .filter(({ status }) => status !== "passed")
      .map(({ fullName, failureMessages }) => [fullName, ...failureMessages]),
    ...testResults.map(({ message }) => message).filter((message) => message !== ""),
  ];
  expect(problems).toEqual([]);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return tests.length;
}
