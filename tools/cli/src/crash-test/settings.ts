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

/** The faults that this command can inject. */
const kinds: readonly FaultKind[] = ["crash", "fail", "response_lost", "status", "freeze"];

/** Parses `--faults`. Throws a UsageError for an unknown fault, and for `freeze` on Windows. */
export function faultsOf(text: string): readonly FaultKind[] {
  const words = text.split(",").map((word) => word.trim());
  for (const word of words) assertOneOf("--faults", word, kinds);
  if (words.includes("freeze") && !hasGroups) {
    throw new UsageError("--faults freeze is not supported on Windows.", "Leave it out.");
  }
  return faultKinds.filter((kind) => words.includes(kind));
}

/** Parses `--at`, such as `crash@3`, and returns it in the form that `search` accepts, or throws a UsageError. */
export function pointOf(text: string): string {
  const faults = readFaults(text);
  if (faults?.length === 1 && faults.every(({ kind }) => kinds.includes(kind)))
    return writeFaults(faults);
  throw new UsageError(
    `--at is ${text}, which is not a fault and a point.`,
    `Copy it from the end of a finding, for example --at crash@3. The faults are ${kinds.join(", ")}.`,
  );
}

/** The names of this command's options in reports and errors. */
export const commandWords: Words = {
  only: "`--at`",
  accept: "--accept",
  repeat: (faults) => `--at ${faults}`,
};
