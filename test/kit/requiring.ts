import { describe, test, type TestFunction } from "vitest";
import { areToolsRequired } from "./tools.js";

/**
 * Returns the note behind the names of tests whose tool is missing. It is empty if the tool is there.
 *
 * @throws Error if the tool is missing and required
 */
function noteOf(tool: string, isInstalled: boolean): string {
  if (isInstalled) return "";
  if (areToolsRequired()) {
    throw new Error(
      `These tests need ${tool}, which this machine lacks. Install it, or set SVC_TEST_TOOLS=none to skip them.`,
    );
  }
  return ` (SKIPPED without ${tool})`;
}

/** Returns `describe` for tests that need a tool. */
export function describeRequiring(
  tool: string,
  isInstalled: boolean,
): (name: string, body: () => void) => void {
  const note = noteOf(tool, isInstalled);
  const describeOrSkip = note === "" ? describe : describe.skip;
  return (name, body) => describeOrSkip(`${name}${note}`, body);
}

/** Returns `test` for a test that needs a tool. */
export function testRequiring(
  tool: string,
  isInstalled: boolean,
): (name: string, body: TestFunction) => void {
  const note = noteOf(tool, isInstalled);
  const testOrSkip = note === "" ? test : test.skip;
  return (name, body) => testOrSkip(`${name}${note}`, body);
}
