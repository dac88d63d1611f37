import { assertValid } from "@svc-webhooks/core";

/** @throws ReceiverConfigError `invalid_option` */
export function assertWhole(value: number, option: string, min: number, max: number): void {
  assertValid(
    Number.isInteger(value) && value >= min && value <= max,
    option,
    `\`${option}\` must be a whole number from ${min} to ${max}.`,
  );
}
