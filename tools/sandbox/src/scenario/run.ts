import { setImmediate } from "../lib/timers.js";
import { actions, type ActionName, type Perform } from "../control/actions.js";
import { newCall } from "../http/kept-request.js";
import { ApiError, messageOf } from "../errors.js";
import type { Reply } from "../http/api.js";
import { lastTime } from "../lib/iso.js";
import { withoutSecrets } from "../lib/mask.js";
import { parseSpan } from "../lib/units.js";
import type { Service } from "../service/service.js";
import { isRunning } from "../state/records.js";
import { check, selected, textOf } from "./checks.js";
import {
  fixedAssumption,
  fixedReason,
  isHeaderText,
  isInterfacePath,
  rotationsIn,
  type ActionStep,
  type AdvanceStep,
  type ExpectStep,
  type FindStep,
  type RequestStep,
  type Scenario,
  type Step,
} from "./format.js";
import type { ScenarioReport, ScenarioResult } from "./report.js";
import { idPattern } from "./service-ids.js";
import { jsonIn } from "../lib/json-in.js";
import { fill, mapStrings, valueAt } from "./template.js";
import { asUsageOf, WrongStep } from "./wrong-step.js";

/** The parts of the sandbox that a run uses. */
interface Parts {
  readonly service: Service;
  readonly handle: (request: Request) => Promise<Reply>;
  readonly perform: Perform;
}

interface RunOptions {
  readonly to: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** Makes the sandbox use the secret with this index next. */
  readonly useSecret: (index: number) => void;
  /** Whether an endpoint was refused because it is not on the receiver's server. */
  readonly hasLeft: () => boolean;
}

/** A run in progress. */
interface Run extends Parts, RunOptions {
  /** The values of the references, by name. */
  readonly values: Map<string, string>;
  readonly firstSeq: number;
  rotations: number;
}

/** A step's results. A step that cannot be completed ends the run, because later steps may depend on it. */
interface StepResult {
  readonly results: readonly Omit<ScenarioResult, "step">[];
  readonly ends?: boolean;
}

const apiKey = "svc_test";

/** The maximum number of due items that one expectation waits for. */
const mostItems = 100_000;

/**
 * Runs the steps one after another. Each step ends when all due work has finished.
 *
 * @throws WebhookError (as a rejection) `wrong_usage` for a step whose error shows only while it runs
 */
export async function runSteps(
  parts: Parts,
  { name, steps }: Scenario,
  options: RunOptions,
): Promise<ScenarioReport> {
  const run: Run = {
    ...parts,
    ...options,
    values: new Map(options.to === undefined ? [] : [["receiver", options.to]]),
    firstSeq: parts.service.state.newestSeq(),
    rotations: 0,
  };
  const results: ScenarioResult[] = [];
  let ran = 0;
  for (const step of steps) {
    options.signal?.throwIfAborted();
    const { results: added, ends } = await runStep(run, step).catch((error: unknown) => {
      throw asUsageOf(ran, error);
    });
    ran += 1;
    results.push(...added.map((result) => ({ step: ran, ...result })));
    if (ends) break;
  }
  options.signal?.throwIfAborted();
  const met = ran === steps.length && results.every((result) => result.met);
  return { scenario: name, met, steps: steps.length, ran, results };
}

async function runStep(run: Run, step: Step): Promise<StepResult> {
  if ("find" in step) return runFind(run, step);
  if ("advance" in step) return runAdvance(run, step);
  if (!("request" in step) && !("action" in step)) return runExpect(run, step);
  const done = await ("request" in step ? runRequest(run, step) : runAction(run, step));
  if (run.hasLeft())
    throw new WrongStep("registers an endpoint of another server. Use {receiver} as its url.");
  return done;
}

async function runRequest(run: Run, step: RequestStep): Promise<StepResult> {
  const { method, path } = step.request;
  const counts = new Map<string, number>();
  let body: unknown;
  for (let n = 1; n <= step.times; n += 1) {
    chooseSecret(run, step);
    const reply = await afterDelays(run, run.handle(requestOf(run, step, n)));
    const status = "lost" in reply ? "lost" : reply.response.status;
    body = "lost" in reply ? undefined : jsonIn(await reply.response.text());
    await run.service.clock.advance(0);
    if (status === (step.status ?? status) && (step.status !== undefined || isSuccess(status)))
      continue;
    const word = `${status}${messageIn(run, body)}`;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const times = step.times > 1 ? ` (${step.times} times)` : "";
  const others = Array.from(counts, ([word, n]) => `${n} × ${word}`).join(", ");
  const status = result(
    `${method} ${path}${times} responds with ${step.status ?? "2xx"}`,
    others === "",
    others,
  );
  const members = Object.entries(step.expect ?? {}).map(([place, wanted]) => {
    const value = valueAt(body, fill(place, run.values));
    return result(
      `${method} ${path}: ${place} is ${JSON.stringify(wanted)}`,
      value === (typeof wanted === "string" ? fill(wanted, run.values) : wanted),
      // The value is masked before it is shortened, because a part of an id or of a secret would not be recognized.
      masked(run, JSON.stringify(value) ?? "nothing").slice(0, 200),
    );
  });
  if (!status.met) return { results: [status, ...members], ends: true };
  const kept = keep(run, step.capture, body);
  return { ...kept, results: [status, ...members, ...kept.results] };
}

function requestOf({ service, values }: Run, { request }: RequestStep, n: number): Request {
  const { method, path, body, text, idempotency_key: key } = request;
  const more = new Map([...values, ["n", String(n)]]);
  const content =
    body === undefined ? text && fill(text, more) : JSON.stringify(filled(body, more));
  const headers = new Headers({ authorization: `Bearer ${apiKey}` });
  if (content !== undefined) headers.set("content-type", "application/json");
  const filledPath = fill(path, more);
  if (!isInterfacePath(filledPath))
    throw new WrongStep("has a path whose captured values lead out of /v1/. Capture other values.");
  const url = new URL(filledPath, "http://sandbox.test");
  if (url.pathname === "/v1/emails") {
    const filledKey = key === undefined ? service.ids.next("key") : fill(key, more);
    if (!isHeaderText(filledKey))
      throw new WrongStep(
        "has an idempotency key with characters other than printable ASCII. Capture another value.",
      );
    headers.set("idempotency-key", filledKey);
  }
  return new Request(url, { method, headers, body: content ?? null });
}

/** Resolves like `reply`. If a fault delays the request, moves the clock to the end of the delay. */
async function afterDelays({ service, signal }: Run, reply: Promise<Reply>): Promise<Reply> {
  let isDone = false;
  const done = reply.finally(() => (isDone = true));
  // The caller handles a rejection. Until then, this handler keeps it from counting as unhandled.
  done.catch(() => {});
  for (;;) {
    await new Promise<void>((resolve) => void setImmediate(resolve));
    if (isDone) return done;
    signal?.throwIfAborted();
    if (isPaused(service)) await service.clock.advanceToNext();
  }
}

/** Whether a fault is delaying a request now. */
const isPaused = ({ state }: Service): boolean =>
  state.calls
    .list()
    .some((call) => isRunning(call) && state.faults.get(call.faultId ?? "")?.kind === "slow");

async function runAction(run: Run, step: ActionStep): Promise<StepResult> {
  const { service, values } = run;
  chooseSecret(run, step);
  const params = filled(step.params, values) as Readonly<Record<string, string>>;
  if (step.action === "set-assumption" && params["id"] === fixedAssumption)
    throw new WrongStep(`cannot set ${fixedReason} Remove the step.`);
  try {
    const done = await run.perform(step.action, {
      params,
      given: filled(step.body ?? {}, values),
      call: (account) => newCall(service, actionRequest(step.action), account),
    });
    await service.clock.advance(0);
    return keep(run, step.capture, done.result);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return failure(`the action ${step.action} succeeds`, masked(run, messageOf(error)));
  }
}

const actionRequest = (name: ActionName) => ({
  method: "POST",
  url: `http://sandbox.test/_sandbox/${actions[name].route}`,
  headers: new Headers(),
});

function runFind(run: Run, step: FindStep): StepResult {
  const { number, ...selection } = filled(step.find, run.values) as FindStep["find"];
  const all = selected(run.service, run.firstSeq, selection);
  const delivery = all[number - 1];
  if (!delivery) return failure(`delivery number ${number}`, `${all.length} deliveries`);
  return keep(run, step.capture, {
    id: delivery.id,
    event_id: delivery.eventId,
    delivery_id: delivery.deliveryId,
    source_event_id: delivery.sourceEventId,
  });
}

async function runAdvance({ service: { clock } }: Run, step: AdvanceStep): Promise<StepResult> {
  if (step.advance === "next") await clock.advanceToNext();
  else {
    const span = parseSpan(step.advance) ?? 0;
    if (clock.now() + span > lastTime)
      throw new WrongStep("moves the clock beyond the year 9999. Use shorter durations.");
    await clock.advance(span);
  }
  await clock.advance(0);
  return { results: [] };
}

/**
 * Moves the clock from one due item to the next until the expectation is met, or nothing more is due within the time
 * that the step's `within` allows.
 */
async function runExpect(run: Run, step: ExpectStep): Promise<StepResult> {
  const { service, signal } = run;
  const { clock } = service;
  const wanted = filled(step.expect, run.values) as ExpectStep["expect"];
  const until = clock.now() + (step.within === undefined ? 0 : (parseSpan(step.within) ?? 0));
  let { met, found } = check(service, run.firstSeq, wanted);
  for (let items = 0; !met && items < mostItems; items += 1) {
    if ((clock.nextDue ?? Infinity) > until) break;
    signal?.throwIfAborted();
    await clock.advanceToNext();
    await clock.advance(0);
    ({ met, found } = check(service, run.firstSeq, wanted));
  }
  return { results: [result(textOf(step), met, found)] };
}

/** Selects the secret that the sandbox uses next: the first for a new endpoint, the next unused one for a rotation. */
function chooseSecret(run: Run, step: RequestStep | ActionStep): void {
  const rotates = rotationsIn(step) > 0;
  if (rotates) run.rotations += 1;
  run.useSecret(rotates ? run.rotations : 0);
}

const filled = (value: unknown, values: ReadonlyMap<string, string>) =>
  mapStrings(value, (text) => fill(text, values));

/** Captures values of a response for later steps. Ends the run if a value is missing. */
function keep(
  { values }: Run,
  captures: Readonly<Record<string, string>> | undefined,
  from: unknown,
): StepResult {
  for (const [name, path] of Object.entries(captures ?? {})) {
    const value = valueAt(from, path);
    if (typeof value !== "string" && typeof value !== "number")
      return failure(`{${name}} at ${path}`, "nothing");
    // A reference to the secret could put it into a URL or an email.
    if (/whsec_/.test(String(value)))
      throw new WrongStep(`captures a signing secret as {${name}}. Remove the capture.`);
    values.set(name, String(value));
  }
  return { results: [] };
}

/**
 * Replaces ids, secrets, and references' values of at least eight characters, because they may differ between two runs.
 */
function masked({ values }: Run, text: string): string {
  let shown = text;
  for (const [name, value] of values)
    if (value.length >= 8) shown = shown.replaceAll(value, `{${name}}`);
  return withoutSecrets(shown, () => "whsec_…")
    .replaceAll(idPattern, "$1_…")
    .replaceAll(/\breq_[A-Za-z0-9]{20}\b/g, "req_…");
}

const result = (expected: string, met: boolean, found: string) =>
  met ? { expected, met } : { expected, met, found };

const failure = (expected: string, found: string): StepResult => ({
  results: [result(expected, false, found)],
  ends: true,
});

const isSuccess = (status: number | "lost") =>
  typeof status === "number" && status >= 200 && status <= 299;

/** Returns the message of an error response, in any of its forms. */
function messageIn(run: Run, body: unknown): string {
  const texts = ["error.message", "message", "detail"].map((path) => valueAt(body, path));
  const text = texts.find((value) => typeof value === "string");
  return text === undefined ? "" : ` (${masked(run, text).slice(0, 300)})`;
}
