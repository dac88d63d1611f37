/**
 * Describes a duration in seconds. If it is at least two minutes, also describes it in the largest of the units d, h
 * and min of which it has at least two.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { describeMs } from "@svc-webhooks/explain/senders";
 *
 * assert.equal(describeMs(7_200_000), "about 2 h (7200 s)");
 * ```
 */
export function describeMs(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  const [unit, size] = (
    [
      ["d", 86_400],
      ["h", 3_600],
      ["min", 60],
    ] as const
  ).find(([, length]) => seconds >= 2 * length) ?? ["s", 1];
  return size === 1 ? `${seconds} s` : `about ${Math.round(seconds / size)} ${unit} (${seconds} s)`;
}
