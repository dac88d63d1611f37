import { wrongUsage } from "../errors.js";

/** Thrown for a step whose mistake only shows while it runs. The message continues `steps[2] `. */
export class WrongStep extends Error {}

/** Returns the error of `runScenario` for a wrong step, or `error` itself if it is another one. */
export const asUsageOf = (index: number, error: unknown): unknown =>
  error instanceof WrongStep ? wrongUsage(`steps[${index}] ${error.message}`) : error;
