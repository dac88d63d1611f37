import { wrongUsage } from "../errors.js";

/** Thrown for a step whose error shows only while it runs. The message continues a sentence after `steps[2] `. */
export class WrongStep extends Error {}

/** Returns the error that `runScenario` reports for a wrong step, and any other error unchanged. */
export const asUsageOf = (index: number, error: unknown): unknown =>
  error instanceof WrongStep ? wrongUsage(`steps[${index}] ${error.message}`) : error;
