import { assertOptions, assertValid } from "@svc-webhooks/core/adapter";
import { messageOf, wrongUsage } from "./errors.js";
import { createLedger } from "./assumptions/ledger.js";
import { isSecret } from "./lib/mask.js";
import { assemble } from "./sandbox.js";
import { parseScenario, rotationsIn, type Scenario } from "./scenario/format.js";
import type { ScenarioReport } from "./scenario/report.js";
import { runSteps } from "./scenario/run.js";
import { sqliteJournal } from "./state/sqlite-journal.js";
import { referencesIn, stringsIn } from "./scenario/template.js";

export interface RunScenarioOptions {
  /** The URL of the receiver, which replaces `{receiver}`. Required if the scenario contains that reference. */
  readonly to?: string | undefined;
  /**
   * The signing secrets (`whsec_…`): the first for new endpoints, and one more for each rotation. Default: random
   * secrets, with which no receiver can verify the signatures.
   */
  readonly secrets?: readonly string[] | undefined;
  /** The SQLite file that stores the run's state. It must be new, or from an earlier run. Default: memory. */
  readonly data?: string | undefined;
  /**
   * Makes ids and generated secrets repeatable: a whole number, at least 0. A receiver that stores ids then treats the
   * events of a second run as duplicates. Default: random.
   */
  readonly seed?: number | undefined;
  /**
   * The longest real time for which the clock waits for a receiver, in milliseconds: 1 to 600,000. After that, the
   * attempt times out once the scenario moves the clock past the attempt's time limit (A-10). Default: that limit,
   * which is 15,000 ms unless the scenario changes A-10.
   */
  readonly patienceMs?: number | undefined;
  /** Ends the run when aborted: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

const names: readonly (keyof RunScenarioOptions)[] = [
  "to",
  "secrets",
  "data",
  "seed",
  "patienceMs",
  "signal",
];

/** The time at which the clock of each run starts, so that two runs have the same times. */
const startedAt = Date.UTC(2026, 0, 1);

/**
 * Runs a scenario in a sandbox of its own, on a manual clock, and reports which expectations the receiver met. All
 * deliveries go to the server of `to`, on a loopback address. The scenario cannot select another server, and cannot put
 * a secret into a request.
 *
 * @param scenario the parsed JSON of a scenario file, see docs/scenarios.md
 * @throws WebhookError (as a rejection) `wrong_usage` if the scenario is invalid, with the path in the file and the
 *   fix, or if it does not fit the options. Some errors show only when a step runs
 * @throws ConfigError (as a rejection) `unknown_option`, `invalid_option`
 * @throws Error (as a rejection) if the data file cannot be used
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { runScenario } from "@svc-webhooks/sandbox";
 *
 * const report = await runScenario({
 *   version: 1,
 *   name: "types",
 *   steps: [{ request: { method: "GET", path: "/v1/webhook-event-types" }, status: 200 }],
 * });
 * assert.equal(report.met, true);
 * ```
 */
export async function runScenario(
  scenario: unknown,
  options: RunScenarioOptions = {},
): Promise<ScenarioReport> {
  assertOptions(options, names);
  const { to, secrets = [], data, seed, patienceMs, signal } = options;
  assertValid(
    Array.isArray(secrets) && secrets.every(isSecret),
    "secrets",
    "`secrets` must be a list of signing secrets in the service's form, whsec_….",
  );
  const parsed = asUsage(() => parseScenario(scenario));
  assertFits(parsed, to, secrets);
  const ledger = createLedger();
  const { assumptions = {} } = parsed;
  asUsage(() => Object.entries(assumptions).map(([id, value]) => ledger.set(id, value)));
  const { timeoutMs } = ledger.get("delivery.success");
  if (data !== undefined) assertOwnData(data);
  const origin = to === undefined ? undefined : new URL(to).origin;
  let hasLeft = false;
  let secret: string | undefined;
  const assembly = assemble(
    {
      clock: {
        mode: "manual",
        start: startedAt,
        patienceMs: patienceMs ?? Math.min(timeoutMs, 600_000),
      },
      data,
      seed,
      assumptions,
      log: () => {},
    },
    {
      secret: secrets.length === 0 ? undefined : () => secret ?? "",
      refuseUrl(url) {
        if (!URL.canParse(url) || new URL(url).origin === origin) return undefined;
        hasLeft = true;
        return "The endpoint of a scenario must be on the server of its receiver.";
      },
    },
  );
  try {
    prepare(assembly, parsed.name);
    const refused = to === undefined ? undefined : await assembly.service.refuseUrl(to);
    if (refused !== undefined)
      throw wrongUsage(
        "`to` (--to) cannot be the URL of an endpoint. Use a loopback address such as http://127.0.0.1:3000/webhooks; scenarios send nothing to other addresses.",
      );
    const useSecret = (index: number) => {
      secret = secrets[index];
    };
    // Closing the sandbox ends a running move of the clock, which would otherwise delay the rejection.
    signal?.addEventListener("abort", () => void assembly.sandbox.close(), { once: true });
    return await runSteps(assembly, parsed, {
      to,
      signal,
      useSecret,
      hasLeft: () => hasLeft,
    });
  } finally {
    await assembly.sandbox.close();
  }
}

/** Runs `work`, and reports its error as wrong usage. */
function asUsage<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw wrongUsage(messageOf(error));
  }
}

/** Checks that the URL and the secrets suffice for a scenario. @throws WebhookError `wrong_usage` if they do not */
function assertFits({ steps }: Scenario, to: string | undefined, secrets: readonly string[]): void {
  const needsUrl = stringsIn(steps).some((text) => referencesIn(text).includes("receiver"));
  if (needsUrl && to === undefined)
    throw wrongUsage("The scenario needs the URL of your receiver. Add --to URL.");
  if (to !== undefined && !isHttpUrl(to))
    throw wrongUsage(
      "`to` (--to) must be an http: or https: URL, such as http://localhost:3000/webhooks.",
    );
  const rotations = steps.reduce((sum, step) => sum + rotationsIn(step), 0);
  if (secrets.length > 0 && secrets.length < rotations + 1)
    throw wrongUsage(
      `The scenario rotates the secret ${rotations === 1 ? "once" : `${rotations} times`}, so it needs ${rotations + 1} secrets, all of which the receiver must accept. Repeat --secret-env NAME.`,
    );
}

const isHttpUrl = (text: string) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);

/** The kinds of records that a user may want to keep. A run removes all records. */
const kept: ReadonlySet<string> = new Set(["call", "endpoint", "domain", "fault", "checkpoint"]);

/**
 * Checks that a data file is new, or from an earlier run, before the run changes anything in it.
 *
 * @throws WebhookError `wrong_usage` if the run would remove other data
 */
function assertOwnData(data: string): void {
  const journal = sqliteJournal(data);
  let isUsed = false;
  let isOwn = false;
  try {
    for (const { kind, id } of journal.load()) {
      isUsed ||= kept.has(kind) || (kind === "setting" && id.startsWith("A-"));
      isOwn ||= kind === "setting" && id === "scenario";
    }
  } finally {
    journal.close();
  }
  if (isUsed && !isOwn)
    throw wrongUsage(
      `The data file ${data} has data that a scenario would remove. Use a new file, or one from an earlier scenario.`,
    );
}

/** Empties the sandbox, sets its clock, and marks its data file as that of a scenario. */
function prepare(
  { sandbox, service: { state, clock } }: ReturnType<typeof assemble>,
  name: string,
): void {
  sandbox.reset();
  clock.rewind({ mode: "manual", speed: 1, now: startedAt, wall: 0 });
  state.settings.put({ id: "scenario", value: name });
  state.commit();
}
