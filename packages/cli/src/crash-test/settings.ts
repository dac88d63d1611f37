import {
  faultKinds,
  readFaults,
  writeFaults,
  type FaultKind,
  type Words,
} from "@svc-webhooks/crash-test";
import { UsageError } from "../errors.js";
import { assertOneOf } from "../lib/one-of.js";
import { hasGroups } from "../dev/group.js";

/** Returns the kind of fault that a word in an option means. `kill` means `crash`; both words are accepted. */
const kindOf = (word: string): string => (word === "kill" ? "crash" : word);

/** The faults that this command can inject. */
const words: readonly string[] = ["kill", "fail", "lost_reply", "refuse", "freeze"];

/** Parses `--faults`. Throws a UsageError for an unknown fault, and for `freeze` on Windows. */
export function faultsOf(text: string): readonly FaultKind[] {
  const given = text.split(",").map((word) => word.trim());
  for (const word of given) assertOneOf("--faults", word === "crash" ? "kill" : word, words);
  if (given.includes("freeze") && !hasGroups) {
    throw new UsageError("--faults freeze is not supported on Windows.", "Leave it out.");
  }
  return faultKinds.filter((kind) => given.map(kindOf).includes(kind));
}

/** Parses `--at`, such as `kill@3`, and returns it in the form that `search` accepts, or throws a UsageError. */
export function pointOf(text: string): string {
  const faults = readFaults(text.replaceAll("kill@", "crash@"));
  if (faults && faults.length === 1 && words.map(kindOf).includes(faults[0]?.kind ?? ""))
    return writeFaults(faults);
  throw new UsageError(
    `--at is ${text}, which is not a fault and a point.`,
    `Copy it from the end of a finding, for example --at kill@3. The faults are ${words.join(", ")}.`,
  );
}

/** The words that reports and errors use: `kill` instead of `crash`, and the options of this command. */
export const commandWords: Words = {
  only: "`--at`",
  accept: "--accept",
  faults: (faults) => faults.replaceAll("crash@", "kill@"),
  repeat: (faults) => `--at ${commandWords.faults(faults)}`,
};
