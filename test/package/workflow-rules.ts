import { isScalar, parseDocument } from "yaml";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly "runs-on": string;
  readonly "timeout-minutes"?: number;
  readonly if?: unknown;
  readonly environment?: unknown;
  readonly needs?: string | readonly string[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly unknown[]>> };
}

/** A parsed workflow. Its `commentOf` returns the comment at the end of a value's line. */
interface Workflow {
  readonly on: unknown;
  readonly permissions?: unknown;
  readonly jobs: readonly (readonly [name: string, job: Job])[];
  /** All parts of the file that are not in a job. */
  readonly rest: unknown;
  readonly commentOf: (...path: readonly (string | number)[]) => string;
}

function parseWorkflow(text: string): Workflow {
  const document = parseDocument(text);
  const { jobs, ...rest } = document.toJS() as Pick<Workflow, "on" | "permissions"> & {
    readonly jobs: Readonly<Record<string, Job>>;
  };
  return {
    ...rest,
    rest,
    jobs: Object.entries(jobs),
    commentOf: (...path) => {
      const value = document.getIn(path, true);
      return (isScalar(value) && value.comment?.trim()) || "";
    },
  };
}

/** A rule: returns a sentence for each place in a workflow that breaks it. */
type Rule = (workflow: Workflow) => readonly string[];

const inSteps = (
  { jobs }: Workflow,
  problemOf: (step: Step, job: string, index: number) => string | false | undefined,
): readonly string[] =>
  jobs.flatMap(([name, { steps }]) =>
    steps.flatMap((step, index) => problemOf(step, name, index) || []),
  );

const permissions: Rule = ({ permissions: atTop, jobs, commentOf }) => [
  ...(JSON.stringify(atTop) === "{}" ? [] : ["Write `permissions: {}` at the top."]),
  ...jobs.flatMap(([name, job]) => {
    if (typeof job.permissions !== "object")
      return [`${name}: list the permissions that it needs.`];
    return Object.entries(job.permissions)
      .filter(
        ([scope, access]) => access === "write" && !commentOf("jobs", name, "permissions", scope),
      )
      .map(([scope]) => `${name}: add a comment that explains why \`${scope}: write\` is needed.`);
  }),
];

const pins: Rule = (workflow) =>
  inSteps(workflow, ({ uses = "" }, job, index) => {
    if (uses === "") return false;
    if (!/@[\da-f]{40}$/.test(uses)) return `${job}: pin ${uses} to a commit.`;
    const version = workflow.commentOf("jobs", job, "steps", index, "uses");
    return !/^\d+\.\d+\.\d+$/.test(version) && `${job}: name the version of ${uses} in a comment.`;
  });

/** The inputs with which the defaults of an action are turned off, because other steps or runs could abuse them. */
const turnedOff: Readonly<Record<string, string>> = {
  "actions/checkout": "persist-credentials",
  "actions/setup-node": "package-manager-cache",
};

const inputs: Rule = (workflow) =>
  inSteps(workflow, ({ uses = "", with: given }, job) => {
    const input = turnedOff[uses.replace(/@.*/, "")];
    return input && given?.[input] !== false && `${job}: pass \`${input}: false\` to ${uses}.`;
  });

const timeouts: Rule = ({ jobs }) =>
  jobs
    .filter(([, job]) => typeof job["timeout-minutes"] !== "number")
    .map(([name]) => `${name}: set timeout-minutes.`);

const runners: Rule = ({ jobs }) =>
  jobs.flatMap(([name, { "runs-on": runner, strategy }]) => {
    const key = /^\$\{\{ matrix\.(\w+) \}\}$/.exec(runner)?.[1];
    const labels = key === undefined ? [runner] : (strategy?.matrix[key] ?? [runner]);
    return labels
      .filter((label) => !/-\d+(?:\.\d+)?$/.test(String(label)))
      .map((label) => `${name}: name the version of the runner ${String(label)}.`);
  });

const expressions: Rule = (workflow) =>
  inSteps(workflow, ({ run = "", with: { script = "" } = {} }, job) => {
    // `script` is the program of actions/github-script.
    const program = [run, String(script)].find((one) => one.includes("${{"));
    return program && `${job}: pass the value in \`env\`, not in the program ${program.trim()}.`;
  });

const triggers: Rule = ({ on }) =>
  ["pull_request_target", "workflow_run"]
    .filter((name) => JSON.stringify(on).includes(`"${name}"`))
    .map(
      (name) => `${name} gives the code of a pull request the rights of main. Use another event.`,
    );

/** The environments whose secrets only main can read. */
const guarded = new Set(["npm", "version"]);

const secrets: Rule = ({ jobs, rest }) => {
  const namesSecret = (part: unknown) => /\bsecrets\b/.test(JSON.stringify(part));
  return [["The top", rest] as const, ...jobs]
    .filter(([, part]) => namesSecret(part) && !guarded.has(String(Object(part).environment)))
    .map(([name]) => `${name}: read secrets only in a job with the environment npm or version.`);
};

/** Install scripts are programs of many authors. */
const installScripts: Rule = ({ jobs }) =>
  jobs
    .filter(
      ([, { environment, permissions: granted, steps }]) =>
        (environment !== undefined || granted?.["id-token"] === "write") &&
        steps.some(({ run = "" }) =>
          /\bnpm (?:ci|install)\b(?!.* --(?:ignore-scripts|global)\b)/.test(run),
        ),
    )
    .map(
      ([name]) =>
        `${name}: install with --ignore-scripts, because the job has an identity or secrets.`,
    );

/** Returns the names of the npm scripts that a text runs. */
export const scriptsIn = (text: string): readonly string[] =>
  Array.from(
    text.matchAll(/\bnpm (?:run (?:--?\S+ )*([\w:-]+)|(test)\b)/g),
    ([, run, test]) => run ?? String(test),
  );

/** A check that waits for all jobs is the only one that the forge has to require. */
const required: Rule = ({ jobs }) => {
  const passed = jobs.find(([name]) => name === "passed")?.[1];
  if (passed === undefined) return [];
  // The forge accepts a required check that was skipped.
  const skipped = passed.if === "always()" ? [] : ["passed: write `if: always()`."];
  const missing = jobs
    .filter(([name]) => name !== "passed" && ![passed.needs].flat().includes(name))
    .map(([name]) => `${name}: add it to the needs of \`passed\`.`);
  return [...skipped, ...missing];
};

/** Returns what a workflow does that no workflow of this repository may do. */
export function problemsOf(
  text: string,
  scripts: Readonly<Record<string, string>>,
): readonly string[] {
  const workflow = parseWorkflow(text);
  const existing: Rule = (one) =>
    inSteps(one, ({ run = "", with: given }, job) => {
      // changesets/action has a command as an input.
      const missing = scriptsIn(`${run}\n${JSON.stringify(given)}`).find(
        (name) => !(name in scripts),
      );
      return missing !== undefined && `${job}: package.json has no script ${missing}.`;
    });
  return [
    permissions,
    pins,
    inputs,
    timeouts,
    runners,
    expressions,
    triggers,
    secrets,
    installScripts,
    required,
    existing,
  ].flatMap((rule) => rule(workflow));
}
