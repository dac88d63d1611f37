import { nearest } from "@svc-webhooks/core/outcomes";
import { CrashTestError } from "../errors.js";
import { faultKinds, readFaults, writeFaults, type Fault } from "../faults.js";
import type { Finding, History, Runner } from "../history.js";
import { adviceFor, sourceOf } from "../judge/advice.js";
import { deviationsOf, nameOf, type Expected } from "../judge/judge.js";
import { linesOf } from "../report/lines.js";
import type { ReportPage, Tried } from "../report/report.js";
import { textOf } from "../report/text.js";
import { functionWords, type Words } from "../report/words.js";
import { Collection, type Found } from "./found.js";
import { baseOf, extensionsOf, sample, type Base } from "./levels.js";
import type { SearchOptions } from "./options.js";
import { assertSame, runUndisturbed, withoutFaults, writtenLines } from "./undisturbed.js";

/**
 * Runs the histories, judges them, and resolves to the data of the report.
 *
 * @throws CrashTestError (as a rejection) `nondeterministic`, `not_acknowledged`, `no_effect`,
 *   `accepted_not_found`, `invalid_option`
 */
export async function search(runner: Runner, options: SearchOptions): Promise<ReportPage> {
  const { words = functionWords } = options;
  const only = options.only === undefined ? undefined : faultsIn(options.only, words);
  const expected = await runUndisturbed(runner, options);
  const { undisturbed } = expected;
  const collection = new Collection(undisturbed);
  const tried: { -readonly [Name in keyof Tried]: Tried[Name] }[] = [];
  const unseen = new Set(undisturbed.unseen);
  const notReached: string[] = [];
  /** The `worldAtDeath` of earlier histories. Histories with equal values continue alike, so only one is extended. */
  const worlds = new Set<string>();

  if (undisturbed.isReal) return pageWith([], []);
  collection.add(undisturbed, withoutFaults(expected));
  try {
    if (only) {
      await runLevel([only], false);
      if (notReached.length > 0) throw notReachedError(notReached, words);
    } else if (collection.names.length === 0) await runLevels();
    return await finished();
  } catch (error) {
    if (!(error instanceof CrashTestError) && collection.names.length > 0) {
      options.onEndedEarly?.(pageWith(findingsSoFar(collection, expected), [], [endedEarly]));
    }
    throw error;
  }

  async function runLevels(): Promise<void> {
    let bases: readonly Base[] = [baseOf(undisturbed)];
    let left = options.maxHistories;
    for (let level = 1; level <= options.maxFaults && bases.length > 0; level += 1) {
      const all = bases.flatMap((base) => extensionsOf(base, options.faults));
      const chosen = level === 1 ? all : sample(all, left, options.seed);
      if (level > 1) left -= chosen.length;
      tried.push({ faults: level, run: 0, of: all.length });
      const next = await runLevel(chosen, level < options.maxFaults);
      const hasNew = collection.names.some((name) => !options.accept.includes(name));
      bases = hasNew ? [] : next;
    }
  }

  /** Runs histories. If another level may follow, resolves to those to which a further fault can be added. */
  async function runLevel(
    all: readonly (readonly Fault[])[],
    isFollowed: boolean,
  ): Promise<readonly Base[]> {
    const next: Base[] = [];
    for (const [index, faults] of all.entries()) {
      const history = await runner.run(faults);
      const level = tried.at(-1);
      if (level) level.run += 1;
      options.onHistory?.(index + 1, all.length);
      for (const access of history.unseen) unseen.add(access);
      const isReached = history.notReached === undefined;
      if (!isReached) notReached.push(writeFaults(faults));
      const deviations = isReached ? deviationsOf(history, expected) : [];
      collection.add(history, deviations);
      const { worldAtDeath: world } = history;
      const isKnown = world !== undefined && worlds.has(world);
      const isBase = isFollowed && isReached && deviations.length === 0 && !isKnown;
      if (isBase) next.push(baseOf(history));
      if (world !== undefined) worlds.add(world);
    }
    return next;
  }

  async function finished(): Promise<ReportPage> {
    const { findings, unsteady } = await confirmed(runner, options, expected, collection);
    // Throws only if all findings are accepted, because others are more important than names that do not occur.
    const unused = only ? [] : unusedText(options.accept, findings, words);
    if (unused.length > 0 && findings.every(isAccepted(options))) {
      throw new CrashTestError("accepted_not_found", unused.join("\n"));
    }
    return pageWith(findings, unsteady, unused);
  }

  /** Returns the data of the page. `remarks` are the last lines of the report's text. */
  function pageWith(
    findings: readonly Finding[],
    unsteady: readonly string[],
    remarks: readonly string[] = [],
  ): ReportPage {
    const report = {
      ...partsKnownFrom(expected, options),
      findings: findings.filter((finding) => !isAccepted(options)(finding)),
      accepted: findings.filter(isAccepted(options)),
      tried,
      notReached,
      unsteady,
      unseen: [...unseen].toSorted(),
    };
    const text = [textOf(report, options.maxFaults, words), ...remarks].join("\n");
    return {
      report: { ...report, text },
      undisturbed: linesOf(undisturbed),
      points: undisturbed.crossings.map(({ name }) => name),
      cells: collection.cells,
    };
  }
}

/** Runs the shortest history of each finding again. Resolves to the findings that occur again, and to the others. */
async function confirmed(
  runner: Runner,
  options: SearchOptions,
  expected: Expected,
  collection: Collection,
) {
  const findings: Finding[] = [];
  const unsteady: string[] = [];
  for (const [name, longest] of collection.shortest) {
    const shortest = await shrunk(runner, expected, longest);
    const again = await repeats(runner, options, expected, shortest);
    if (again) findings.push(findingOf(shortest, again, expected, collection.placesOf(name)));
    else unsteady.push(`${name}: ${writeFaults(shortest.history.faults)}`);
  }
  return { findings, unsteady };
}

/** Returns the parts of a report that the undisturbed history and the options determine. */
function partsKnownFrom(expected: Expected, { events, blind, seed, only }: SearchOptions) {
  const { undisturbed } = expected;
  return {
    version: 1,
    events: events.map(oneLine),
    points: undisturbed.crossings.length * 2,
    unused: undisturbed.unused ?? [],
    notCompared: notComparedIn(expected),
    blind,
    keyed: keyedEffects(undisturbed),
    seed,
    only: undisturbed.isReal ? undefined : only,
  } as const;
}

const isAccepted =
  ({ accept }: SearchOptions) =>
  (finding: Finding): boolean =>
    accept.includes(nameOf(finding));

/** Returns the findings so far, without running their histories again. */
const findingsSoFar = (collection: Collection, expected: Expected): readonly Finding[] =>
  Array.from(collection.shortest, ([name, found]) =>
    findingOf(found, found.history, expected, collection.placesOf(name)),
  );

const endedEarly = "The test ended early, so these findings were not run again.";

/** Puts a text on one line. A second line, which may come from a file, could be a command of GitHub Actions. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");

/** Names the values that are not compared: omitted columns of tables that events change, and masked values. */
function notComparedIn({ undisturbed, mask, ofEvents }: Expected): readonly string[] {
  const changed = new Set([
    ...undisturbed.crossings.flatMap(({ effects }) => effects),
    ...ofEvents.flat().flatMap(({ type, name }) => (type === "part" ? [name] : [])),
  ]);
  const columns = (undisturbed.notCompared ?? []).filter((column) =>
    changed.has(column.slice(0, column.lastIndexOf("."))),
  );
  const masked = Array.from(mask, (path) => path.replace(/^(?:tables|observed)\./, ""));
  return [...new Set([...columns, ...masked])].toSorted();
}

/**
 * Removes the faults that a finding does not need. Keeps a pair of faults without a check: unless the option `only`
 * chose them, all histories with one fault were run before and lack the finding.
 */
async function shrunk(runner: Runner, expected: Expected, found: Found): Promise<Found> {
  const { faults } = found.history;
  if (faults.length < 3) return found;
  for (const removed of faults) {
    const history = await runner.run(faults.filter((fault) => fault !== removed));
    const same = deviationsOf(history, expected).find(
      (deviation) => nameOf(deviation) === nameOf(found.deviation),
    );
    if (same) return shrunk(runner, expected, { history, deviation: same });
  }
  return found;
}

function findingOf(
  { history, deviation }: Found,
  again: History,
  expected: Expected,
  cells: readonly string[],
): Finding {
  const { kind, effect } = deviation;
  return {
    kind,
    effect,
    source: sourceOf(deviation, history, expected) ?? sourceOf(deviation, again, expected),
    repeat: writeFaults(history.faults),
    history: linesOf(history, expected.undisturbed, effect),
    advice: adviceFor(deviation, history, expected),
    cells,
  };
}

/**
 * Runs a history again, or twice if times are not exact. Resolves to the last run, or to undefined if a run lacks the
 * finding.
 *
 * @throws CrashTestError (as a rejection) `nondeterministic` if times are exact and the lines differ
 */
async function repeats(
  runner: Runner,
  { isExact }: SearchOptions,
  expected: Expected,
  { history, deviation }: Found,
): Promise<History | undefined> {
  let last: History | undefined;
  const written = (run: History) =>
    writtenLines(linesOf(run, expected.undisturbed, deviation.effect));
  for (let run = isExact ? 1 : 2; run > 0; run -= 1) {
    const again = await runner.run(history.faults, isExact ? "traced" : undefined);
    last = again;
    if (isExact) {
      assertSame(
        `${writeFaults(history.faults)} `.trimStart(),
        written(history),
        written(again),
        again.unseen,
      );
    }
    const deviations =
      history.faults.length === 0
        ? withoutFaults({ ...expected, undisturbed: again })
        : deviationsOf(again, expected);
    if (!deviations.some((other) => nameOf(other) === nameOf(deviation))) return undefined;
  }
  return last;
}

function faultsIn(only: string, words: Words): readonly Fault[] {
  const faults = readFaults(only);
  if (faults) return faults;
  throw new CrashTestError(
    "invalid_option",
    `${words.only} is "${only}", which is not a list of faults. Copy one from a finding, such as "crash@3 crash@7": kinds (${faultKinds.join(", ")}) and points, in order.`,
  );
}

const notReachedError = ([faults = ""]: readonly string[], words: Words) =>
  new CrashTestError(
    "invalid_option",
    `${words.only} is "${faults}", but the fault did not happen: no crossing reaches that point, or the fault cannot happen there. If the code has changed since the finding, remove ${words.only}, and run all histories.`,
  );

/** Describes each accepted finding that does not occur, and suggests one with a similar name that is not accepted. */
function unusedText(
  accept: readonly string[],
  findings: readonly Finding[],
  words: Words,
): readonly string[] {
  const names = findings.map(nameOf);
  const open = names.filter((name) => !accept.includes(name));
  return accept
    .filter((name) => !names.includes(name))
    .map((name) => {
      const near = nearest(name, open, 1 / 2);
      const fix = near === undefined ? "Remove it." : `Did you mean "${near}"?`;
      return `${words.accept} names "${name}", which does not occur. ${fix}`;
    });
}

/** Names the calls that have a key, and remarks on calls that share one: they count as one call in this test. */
function keyedEffects({ calls, crossings }: History): readonly string[] {
  const keyed = calls.filter(({ crossing }) => crossings[crossing - 1]?.key !== undefined);
  return [...new Set(keyed.map(({ name }) => name))].map((name) => {
    const all = keyed.filter((call) => call.name === name);
    const keys = new Set(all.map(({ key }) => key)).size;
    if (keys === all.length) return name;
    return `${name} (${all.length} calls with ${keys} ${keys === 1 ? "key" : "keys"}: calls with the same key count as one)`;
  });
}
