import { assertValid } from "@svc-webhooks/core";

/** Asserts that an option is a number of jobs, or undefined. */
export function assertCount(value: unknown, option: string, min: number): void {
  assertValid(
    value === undefined || value === Infinity || (Number.isInteger(value) && Number(value) >= min),
    option,
    `\`${option}\` must be a whole number of at least ${min}.`,
  );
}
