import { conflict, messageOf, notFound } from "../errors.js";
import type { ActionName } from "../control/actions.js";
import type { Recorder } from "../control/recorder.js";
import { tenYears } from "../lib/units.js";
import type { Exchange, Service } from "../service/service.js";
import { assertStep, mostBytes, mostSteps, parseScenario, stepActions, version } from "./format.js";
import {
  actionStep,
  callStep,
  initialSteps,
  observed,
  unrecorded,
  Unknown,
  type Recorded,
  type Recording,
} from "./recording.js";

/** The limits on recorded steps. The file needs the rest for captures and for the expectations at its end. */
const mostNoted = mostSteps - 100;
const mostNotedBytes = mostBytes / 2;

/** Adds a step to a recording. @throws Error if a file cannot contain it, or has no room for it */
function add(to: Recording, recorded: Recorded): void {
  assertStep(recorded.step);
  const bytes = Buffer.byteLength(JSON.stringify([[recorded.step]], undefined, 2));
  if (to.steps.length >= mostNoted || to.bytes + bytes > mostNotedBytes) throw new Unknown();
  to.bytes += bytes;
  to.steps.push(recorded);
  to.live.push(recorded);
}

/**
 * Adds steps for the time that has passed since the last step. Each advances the clock by at most ten years, the most
 * that a file's step can have.
 */
function passTime(to: Recording, now: number): void {
  for (let left = now - to.at; left > 0; left -= tenYears)
    add(to, { step: { advance: `${Math.min(left, tenYears)}ms` } });
  to.at = now;
}

/** Adds the time that has passed since the last step. Counts it as left out if the file has no room for it. */
function tryPassTime(to: Recording, now: number): void {
  try {
    passTime(to, now);
  } catch {
    to.leftOut += 1;
  }
}

/** Returns a recording that begins now and has no steps yet. */
function begin({ state, clock, ledger }: Service): Recording {
  const changed = ledger
    .list()
    .filter(({ id, value, default: first }) => value !== first && !unrecorded.has(id))
    .filter(({ value }) => value !== "custom");
  return {
    steps: [],
    assumptions: Object.fromEntries(changed.map(({ id, value }) => [id, value])),
    live: [],
    names: new Map(),
    usedNames: new Set(),
    keys: new Map(),
    checkpoints: new Map(),
    firstSeq: state.newestSeq(),
    earlierCalls: new Set(Array.from(state.calls.all(), ({ id }) => id)),
    at: clock.now(),
    bytes: 0,
    leftOut: 0,
  };
}

/**
 * Adds a step that creates an item from before the recording. If that fails, the step counts as left out, and later
 * steps cannot refer to the item.
 */
function noteInitial(to: Recording, recorded: Recorded): void {
  try {
    add(to, recorded);
  } catch {
    to.leftOut += 1;
    const names = Object.keys(recorded.step["capture"] ?? {});
    for (const [id, name] of to.names) if (names.includes(name)) to.names.delete(id);
  }
}

/** Makes later steps refer only to items that exist after a rewind. */
function goBack(to: Recording, checkpoint: string, now: number): void {
  to.at = now;
  const kept = to.checkpoints.get(checkpoint);
  to.names = new Map(kept?.names);
  to.live = [...(kept?.live ?? [])];
}

/** Returns the file's text, and the number of steps that it leaves out. @throws ApiError 409 if it is not valid */
function fileOf(service: Service, ended: Recording, name: string) {
  tryPassTime(ended, service.clock.now());
  const { assumptions } = ended;
  const steps = ended.steps.map(({ step }) => step);
  const last = observed(service, ended);
  const all = [...steps, ...last.slice(0, mostSteps - steps.length)];
  const scenario = {
    version,
    name,
    ...(Object.keys(assumptions).length === 0 ? {} : { assumptions }),
    // A file needs at least one step, so the file of an empty recording has a step without an effect.
    steps: all.length === 0 ? [{ advance: "0ms" }] : all,
  };
  try {
    parseScenario(scenario);
  } catch (error) {
    throw conflict(
      `The recording has ended, but is not a valid scenario: ${messageOf(error)} Record fewer steps.`,
    );
  }
  const text = `${JSON.stringify(scenario, undefined, 2)}\n`;
  return { text, leftOut: ended.leftOut + steps.length + last.length - all.length };
}

/**
 * Creates the recorder of a sandbox. It records the requests and actions that may change something. It does not record
 * reads.
 */
export function createRecorder(
  service: Service,
): Recorder & { readonly noteCall: (exchange: Exchange) => void } {
  const { clock } = service;
  let recording: Recording | undefined;
  let finished:
    { readonly name: string; readonly text: string; readonly leftOut: number } | undefined;

  /** Adds a step, after the time that has passed since the last step. Counts it as left out if it cannot be added. */
  const note = (make: (to: Recording) => Recorded) => {
    const to = recording;
    if (!to) return;
    try {
      passTime(to, clock.now());
      add(to, make(to));
    } catch {
      // The error is not thrown, because a recording must not make a request fail.
      to.leftOut += 1;
    }
  };

  return {
    state() {
      if (recording)
        return { state: "recording", steps: recording.steps.length, left_out: recording.leftOut };
      return finished && stateOf(finished);
    },
    start() {
      if (recording) throw conflict("A recording is already running. Stop it first.");
      recording = begin(service);
      for (const recorded of initialSteps(service, recording.names))
        noteInitial(recording, recorded);
      for (const used of recording.names.values()) recording.usedNames.add(used);
      finished = undefined;
    },
    stop(name) {
      if (!recording) throw conflict("There is no recording. Start one first.");
      const ended = recording;
      recording = undefined;
      finished = { name, ...fileOf(service, ended, name) };
    },
    file() {
      if (finished) return finished;
      throw notFound(
        "recording",
        recording
          ? "The recording has not ended. Stop it first."
          : "There is no recording. Start one with POST /_sandbox/recording/start.",
      );
    },
    beforeRewind(checkpoint) {
      if (!recording) return;
      if (!recording.checkpoints.has(checkpoint))
        throw conflict(
          "The checkpoint was taken before the recording began. Stop the recording first.",
        );
      // The time until now is recorded first, because the rewind sets the clock back.
      tryPassTime(recording, clock.now());
    },
    noteCall(exchange) {
      const { method, path } = exchange.call;
      if (method === "GET" || method === "HEAD" || !path.startsWith("/v1/")) return;
      note((to) => callStep(service, to, exchange));
    },
    noteAction(name, params, body, result) {
      if (name === "reset" && recording) recording = begin(service);
      if (!(stepActions as readonly string[]).includes(name)) return;
      if (name === "set-assumption" && unrecorded.has(params["id"] ?? "")) return;
      note((to) => actionStep(service, to, { name: name as ActionName, params, body, result }));
      if (name === "rewind" && recording) goBack(recording, params["name"] ?? "", clock.now());
    },
  };

  function stateOf({ name, text, leftOut }: NonNullable<typeof finished>) {
    const { steps } = JSON.parse(text) as { readonly steps: readonly unknown[] };
    return { state: "finished", name, steps: steps.length, left_out: leftOut } as const;
  }
}
