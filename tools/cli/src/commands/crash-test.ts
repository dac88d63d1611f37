import { accessSync, constants, existsSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  annotationsOf,
  CrashTestError,
  isAcceptable,
  pageOf,
  search,
  type ReportPage,
} from "@svc-webhooks/crash-test";
import { service, type Sender } from "@svc-webhooks/schemes/senders";
import { command, type Context, type ExitCode } from "../command.js";
import { createClosers } from "../crash-test/closers.js";
import {
  addressesIn,
  isUrl,
  stubsOf,
  throughOf,
  withoutPostgres,
  type Address,
  type Through,
} from "../crash-test/environment.js";
import { envFilesIn } from "../crash-test/env-files.js";
import { eventsOf } from "../crash-test/events.js";
import { notRun } from "../crash-test/not-run.js";
import { createRunner, type RunnerSettings, type Unacknowledged } from "../crash-test/runner.js";
import { concealEnvironment } from "../crash-test/secrets.js";
import { printedText } from "../crash-test/server-processes.js";
import { openServices } from "../crash-test/services.js";
import { commandWords, faultsOf, pointOf } from "../crash-test/settings.js";
import { startWatcher } from "../crash-test/watcher.js";
import { Failure, UsageError } from "../errors.js";
import { durationOf } from "../lib/duration.js";
import { conceal, masked } from "../lib/mask.js";
import { assertSigningSecret } from "../schemes/signing-secret.js";
import { schemeOption, senderOf } from "../schemes/option.js";
import { resolveTarget } from "../lib/target-rule.js";
import type { Target } from "../lib/target.js";
import { createProgress } from "../lib/terminal/progress.js";
import { table } from "../lib/terminal/table.js";
import { assertNotLinked, notWritable } from "../lib/write.js";

const options = {
  start: {
    type: "string",
    required: true,
    value: "command",
    text: "command that starts your server",
  },
  url: {
    type: "string",
    required: true,
    value: "url",
    text: "URL of your server's receiver; {port} is replaced with each server's PORT",
  },
  event: {
    type: "string",
    multiple: true,
    value: "type",
    text: "type of an event to deliver; pass 1 to 3 events",
  },
  deliver: {
    type: "string",
    multiple: true,
    value: "file",
    isInput: true,
    text: "deliver the events in a file written by listen --save",
  },
  ...schemeOption,
  "secret-env": {
    type: "string",
    value: "name",
    text: "variable with the signing secret; if not set, a new secret is generated",
  },
  through: {
    type: "string",
    multiple: true,
    value: "name",
    text: "variable with the URL of a service to reach through a proxy",
  },
  stub: {
    type: "string",
    multiple: true,
    value: "name",
    text: "variable with the URL of an API that this command serves itself",
  },
  effects: {
    type: "string",
    value: "command",
    text: "command, run with your server's addresses, that prints further state to compare",
  },
  prepare: {
    type: "string",
    value: "command",
    text: "command that fills an empty database, which is used instead of a copy",
  },
  template: {
    type: "string",
    value: "name",
    text: "variable of --through whose database may be on another machine",
  },
  faults: {
    type: "string",
    default: "crash,fail,response_lost,status",
    value: "list",
    text: "faults to inject: crash, fail, response_lost, status (503) or freeze",
  },
  at: {
    type: "string",
    value: "fault@point",
    text: "run only the history with this fault at this point, such as crash@3",
  },
  accept: {
    type: "string",
    multiple: true,
    value: "finding",
    text: 'finding to accept, such as "duplicate slack"',
  },
  "time-limit": { type: "string", default: "10m", value: "duration", text: "stop after this time" },
  list: {
    type: "boolean",
    text: "list the addresses and the crossings (exchanges), without a fault",
  },
  yes: {
    type: "boolean",
    text: "pass other variables with addresses to the server unchanged, and use --through services that cannot be copied",
  },
  html: { type: "string", value: "file", text: "write the report as an HTML page" },
} as const;

type CrashTestContext = Context<typeof options>;

/** Accesses that this command cannot see, and timings that it does not try. Reports list them. */
const blind: readonly string[] = [
  "clients that ignore HTTP_PROXY and HTTPS_PROXY, and connections to addresses that no variable contains (neither is blocked)",
  "files and child processes",
  "other timings of the same exchanges",
];

export const crashTest = command({
  usage: "--start <command> --url <url> --event <type> [--through <name>]",
  details: [
    "Delivers events to your server, which can be written in any language, and injects faults at each exchange with the outside world: it kills the server, breaks the connection, loses the response, or responds with 503 itself. It then retries as a sender does, and reports the effects that are missing or that took place twice. Each run, with at most one fault, is called a history.",
    "Each history has its own processes, copy of the PostgreSQL database, and Redis (if redis-server is installed). The original database is only read. Any other --through service is used as it is. A --stub API responds with 200 and {}. Other requests through HTTP_PROXY are refused and reported.",
    "With --scheme, the deliveries are signed as that sender signs them. If the sender signs with a private key, leave the variable of --secret-env unset: your server then gets a new public key there.",
    "Exits with 1 if there is a finding that is not accepted, if an accepted one does not occur, or if a request to another host was refused. Exits with 3 if the test could not run: for example, if the server did not start, or if two undisturbed runs differed.",
  ],
  examples: [
    'svc-webhooks crash-test --start "node server.js" --url http://127.0.0.1:{port}/webhooks \\',
    "  --event email.delivered --secret-env SVC_WEBHOOK_SECRET --through DATABASE_URL --stub STRIPE_URL",
  ],
  canNotRun: true,
  options,
  async run(context) {
    const { options: given, env, signal } = context;
    const faults = faultsOf(given.faults);
    const only = given.at === undefined ? undefined : pointOf(given.at);
    for (const name of given.accept) assertAcceptable(name);
    if (given.html !== undefined) assertWritable(given.html);
    const limitMs = durationOf("--time-limit", given["time-limit"]);
    const target = await receiverAt(given.url);
    const through = throughOf(given.through, env, given.template, given.yes);
    const stubs = stubsOf(given.stub, env);
    assertNamedOnce(given.stub, given.through);
    concealEnvironment(
      env,
      stubs.map(({ path }) => path),
    );
    const addresses = addressesIn(env, given);
    const sender = senderOf(given);
    assertRepeatable(sender);
    const keys = await keysOf(context, sender);
    const events = await eventsOf(given.event, given.deliver, keys?.signing, sender, context);
    const unnamed = addresses.filter(({ access }) => access === "unnamed").map(({ name }) => name);
    if (unnamed.length > 0) {
      if (!given.yes) return refuse(context, addresses, through, unnamed);
      context.note(`${allOf(unnamed)} passed through unchanged: ${isReal}.`);
    }
    const isSet = (name: string) => env[name] !== undefined || given.stub.includes(name);
    for (const { file, names } of envFilesIn(process.cwd(), isSet)) {
      context.note(
        `Your server may read ${file} and use the addresses in ${names.join(", ")}, because its environment lacks these variables. To replace an address, set its variable in the environment of this command, and name it with --through or --stub.`,
      );
    }
    const { env: kept, removed } = withoutPostgres(env);
    if (removed.length > 0) {
      context.note(
        `Your server runs without ${removed.join(", ")} and the other PostgreSQL variables, so that it cannot use them to reach a real server.`,
      );
    }

    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(timeLimitEnded(given["time-limit"])), limitMs);
    const either = AbortSignal.any([signal, limit.signal]);
    const closers = createClosers();
    try {
      const watcher = await startWatcher();
      closers.add(watcher.close);
      const own = { ...kept, ...secretVariable(context, keys) };
      const services = await openServices({
        env: own,
        signal: either,
        note: context.note,
        through,
        stubs,
        prepare: given.prepare,
        watcher,
      });
      closers.add(services.close);
      const settings: RunnerSettings = {
        start: given.start,
        url: given.url,
        env: own,
        through,
        stubs,
        effects: given.effects,
        watcher,
        ...services,
        events,
        target,
        signal: either,
        note: context.note,
      };
      return given.list
        ? await list(context, addresses, settings)
        : await searchWith(context, settings, { faults, only });
    } catch (error) {
      if (limit.signal.aborted && !signal.aborted) throw limit.signal.reason as Error;
      throw error;
    } finally {
      clearTimeout(timer);
      await closers.close();
    }
  },
});

/**
 * Resolves to the receiver at `--url`. Rejects with a UsageError unless the URL has a scheme and is on this machine.
 */
async function receiverAt(text: string): Promise<Target> {
  const target = await resolveTarget("--url", text.replaceAll("{port}", "1"), undefined);
  if (text.includes("://")) return target;
  throw new UsageError(
    "--url has no scheme.",
    "Write the whole URL, such as http://127.0.0.1:{port}/webhooks.",
  );
}

/** @throws UsageError if a variable is in both lists */
function assertNamedOnce(stub: readonly string[], through: readonly string[]): void {
  const name = stub.find((one) => through.includes(one));
  if (name === undefined) return;
  throw new UsageError(
    `--stub and --through both name ${name}.`,
    "Pass --stub to let this command serve the API, or --through to reach the real service.",
  );
}

/**
 * The keys of the sender and of the server. They differ only if this command generated them and the sender signs with a
 * private key.
 */
interface Keys {
  readonly signing: string;
  /** The value that the server gets in the variable of `--secret-env`. */
  readonly server: string;
}

/**
 * Resolves to the keys from the variable of `--secret-env`, or to new ones if it is not set or empty. Without the
 * option, rejects if `--scheme` is given, and otherwise resolves to undefined: deliveries are then not signed.
 */
async function keysOf(
  { options: given, env }: CrashTestContext,
  sender: Sender,
): Promise<Keys | undefined> {
  const { "secret-env": name } = given;
  if (name === undefined) {
    if (sender === service) return undefined;
    throw new UsageError(
      "--scheme needs --secret-env.",
      "Pass the variable from which your server reads the secret, such as --secret-env STRIPE_WEBHOOK_SECRET.",
    );
  }
  // The error omits the option's value, which may be the secret itself instead of a variable's name.
  if (env[name] === undefined && !/^[A-Z_][A-Z0-9_]*$/.test(name)) {
    throw new UsageError(
      "--secret-env does not name an environment variable.",
      "Pass the name of a variable, not its value: --secret-env SVC_WEBHOOK_SECRET.",
    );
  }
  const value = env[name];
  if (!value) {
    const { secret, signingSecret } = await sender.testKeys();
    return { signing: conceal(signingSecret), server: conceal(secret) };
  }
  if (sender.key === "public") {
    throw new UsageError(
      `--scheme ${sender.name} signs with a private key, which the server must not get.`,
      `Unset ${name}: the server then gets a new public key there.`,
    );
  }
  const secret = conceal(value);
  await assertSigningSecret(secret, sender);
  return { signing: secret, server: secret };
}

const secretVariable = (
  { options: given }: CrashTestContext,
  keys: Keys | undefined,
): Readonly<Record<string, string>> => {
  const { "secret-env": name } = given;
  return name === undefined || keys === undefined ? {} : { [name]: keys.server };
};

/** @throws UsageError if the sender's signed time is in the body: receivers refuse a repeated body as too old */
function assertRepeatable(sender: Sender): void {
  if (sender.name !== "linear") return;
  throw new UsageError(
    "--scheme linear is not supported: the time is in the body, so the server would refuse later deliveries of the same body.",
    "Test the receiver in process with crashTest() of @svc-webhooks/testing/crash-test.",
  );
}

/** @throws UsageError unless `name` is a finding that can be accepted */
function assertAcceptable(name: string): void {
  if (isAcceptable(name)) return;
  throw new UsageError(
    `--accept is ${name}, which is not a finding that can be accepted.`,
    'Pass the kind and the effect of a finding, such as --accept "duplicate slack". An event that is stuck cannot be accepted.',
  );
}

const isReal = "your server and commands have real effects there, again in each history";

const allOf = (names: readonly string[]): string =>
  `${names.join(", ")} ${names.length === 1 ? "is" : "are"}`;

const throughTexts: Readonly<Record<Through["kind"], string>> = {
  postgres: "copied for each history",
  redis: "an empty server or database for each history",
  http: `reached through a proxy, not copied: ${isReal}`,
  bytes: `reached through a proxy, not copied: ${isReal}`,
};

function accessText({ name, access }: Address, through: readonly Through[]): string {
  if (access === "stub") return "served by this command";
  const kind = through.find((one) => one.name === name)?.kind;
  if (kind !== undefined) return throughTexts[kind];
  return `passed through unchanged: ${isReal}`;
}

const addressLines = (
  context: CrashTestContext,
  addresses: readonly Address[],
  through: readonly Through[],
) =>
  table(
    ["variable", "address", "access"],
    addresses.map((one) => [one.name, one.shown, accessText(one, through)]),
    context.stdout,
  );

/** Prints the addresses in the environment, and throws a UsageError so that the server is not started. */
function refuse(
  context: CrashTestContext,
  addresses: readonly Address[],
  through: readonly Through[],
  unnamed: readonly string[],
): never {
  context.show({ addresses, crossings: [] }, addressLines(context, addresses, through));
  const urls = unnamed.filter((name) => isUrl(context.env[name] ?? ""));
  const others = unnamed.filter((name) => !urls.includes(name));
  throw new UsageError(
    `Your environment contains addresses that neither --through nor --stub names, so the server would get them unchanged: ${unnamed.join(", ")}. The server was not started.`,
    [
      ...(urls.length > 0
        ? [
            `Name ${urls.join(", ")} with --through or --stub, or unset variables that are not needed.`,
          ]
        : []),
      ...(others.length > 0
        ? [
            `No option replaces ${others.join(", ")}, because only URLs can be replaced. Unset each variable that is not needed, set it to a service for tests, or let your server read a URL that --through can name.`,
          ]
        : []),
      `With --yes, they are passed through unchanged: ${isReal}.`,
    ].join(" "),
  );
}

/**
 * Runs one history without a fault, and prints the addresses and the exchanges (crossings). Rejects if an event is not
 * acknowledged.
 */
async function list(
  context: CrashTestContext,
  addresses: readonly Address[],
  settings: RunnerSettings,
): Promise<ExitCode> {
  const runner = createRunner(settings);
  const { crossings, unseen } = await runner.run([]);
  const rows = crossings.map(({ n, name, kind, effects, key }) => ({
    points: `${2 * n - 1}, ${2 * n}`,
    name,
    kind,
    effects,
    ...(key === undefined ? {} : { key }),
  }));
  context.show({ addresses, crossings: rows, unseen }, [
    ...(addresses.length > 0 ? [...addressLines(context, addresses, settings.through), ""] : []),
    ...table(
      ["points", "crossing", "effects", "key"],
      rows.map(({ points, name, effects, key }) => [points, name, effects.join(", "), key ?? ""]),
      context.stdout,
    ),
    ...unseen.map((access) => `Access where no fault was tried: ${access}.`),
  ]);
  const unacknowledged = runner.unacknowledged();
  if (!unacknowledged) return 0;
  throw notRun(
    "not_acknowledged",
    "An event was not acknowledged, even though no fault was injected.",
    unacknowledgedHint(unacknowledged, context.options["secret-env"]),
  );
}

/** Returns the hint for an event that was not acknowledged even without a fault: a fix, and the server's last lines. */
function unacknowledgedHint(
  { status, lines }: Unacknowledged,
  secretName: string | undefined,
): string {
  const signed =
    secretName === undefined
      ? "The deliveries are not signed. Pass the name of the variable from which your server reads the secret, such as --secret-env SVC_WEBHOOK_SECRET."
      : `The deliveries are signed with the secret in ${secretName} (--secret-env). This command sets the same variable for your server, so let the server read its secret from there.`;
  const fix =
    status === 401 || status === 403
      ? `The response was ${status}. ${signed}`
      : "Run the server alone with one delivery to see why.";
  return `${fix} ${printedText(lines)}`;
}

async function searchWith(
  context: CrashTestContext,
  settings: RunnerSettings,
  { faults, only }: Pick<Parameters<typeof search>[1], "faults" | "only">,
): Promise<ExitCode> {
  const { options: given, note, signal } = context;
  const runner = createRunner(settings);
  const progress = createProgress(context);
  progress.update(0, "undisturbed");
  const page = await search(runner, {
    events: settings.events.map(({ type }) => type),
    faults,
    maxFaults: 1,
    maxHistories: 0,
    seed: 1,
    only,
    accept: given.accept,
    isExact: false,
    blind,
    words: commandWords,
    onHistory: (done, all) => progress.update(done / all, `${done} of ${all} histories`),
    onEndedEarly(early) {
      progress.clear();
      if (!signal.aborted) print(context, early);
    },
  })
    .catch((error: unknown) => {
      const unacknowledged = runner.unacknowledged();
      const hint = unacknowledged && unacknowledgedHint(unacknowledged, given["secret-env"]);
      throw error instanceof CrashTestError ? explained(error, hint) : error;
    })
    .finally(progress.clear);
  const { points, findings, unseen } = page.report;
  if (points + findings.length + unseen.length === 0) throw noCrossings();
  print(context, page);
  if (runner.waitedForLease()) {
    note(
      "Retries had to wait until a lease expired. To save this time, set a short `leaseMs` in the server under test.",
    );
  }
  if (unseen.length > 0) {
    note(
      "Requests to other hosts were refused, so no fault was tried there. Name the variable of each such API with --stub.",
    );
  }
  return findings.length > 0 || unseen.length > 0 ? 1 : 0;
}

/** Prints a report. On GitHub Actions, also prints annotations. With `--html`, also writes an HTML page. */
function print({ options: given, show, env, note }: CrashTestContext, page: ReportPage): void {
  const { report } = page;
  show(report, report.text.split("\n"));
  if (env["GITHUB_ACTIONS"] === "true") {
    for (const line of annotationsOf(report, commandWords)) note(line);
  }
  if (given.html !== undefined) {
    writePage(given.html, masked(pageOf(page, commandWords)));
  }
}

const timeLimitEnded = (text: string): Failure =>
  notRun(
    "time_limit",
    `The time limit of ${text} was reached before all histories had run.`,
    "Raise --time-limit, or run fewer histories with --faults or --at.",
  );

const noCrossings = (): Failure =>
  notRun(
    "no_crossings",
    "This command saw no exchange between the server and another service, so it injected no fault.",
    "Name the variables that contain the URLs of its services: --through DATABASE_URL, --stub STRIPE_URL.",
  );

/**
 * @throws UsageError if the page cannot be written. Called before the histories run, so that the command fails early
 */
function assertWritable(file: string): void {
  try {
    assertNotLinked("--html", file);
    if (existsSync(file) && statSync(file).isDirectory()) throw new Error(`${file} is a folder`);
    accessSync(existsSync(file) ? file : dirname(file), constants.W_OK);
  } catch (error) {
    throw notWritable("--html", error);
  }
}

function writePage(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw notWritable("--html", error);
  }
}

/** Converts an error of `search` to one for the command line, with a fix if there is one. */
function explained({ code, message, facts }: CrashTestError, unacknowledged = ""): Error {
  if (code === "accepted_not_found") return new Failure(code, message, "");
  if (!facts) return new UsageError(message, "--help describes the options.");
  const { problem, lines, hints, unseen } = facts;
  const refused =
    unseen.length === 0 ? [] : [`Access where no fault was tried: ${unseen.join("; ")}.`];
  if (code === "not_acknowledged") {
    return notRun(code, [problem, ...lines, ...hints, ...refused].join(" | "), unacknowledged);
  }
  if (code === "no_effect") {
    const happened =
      "In the run without faults, the events had no effect that this command can see, so nothing could be lost or duplicated.";
    return notRun(
      code,
      [happened, ...refused].join(" "),
      "Name the variables of your services with --through DATABASE_URL or --stub STRIPE_URL, or pass a command that prints the state with --effects.",
    );
  }
  return notRun(
    code,
    `Two undisturbed runs differed: ${lines.join(" | ")}.`,
    "Turn off the server's background work, such as timers, for this test.",
  );
}
