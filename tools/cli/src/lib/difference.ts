import type { BodyDifference } from "@svc-webhooks/explain";
import { escaped } from "./terminal/text.js";

/** Returns lines that show where the signed bytes first differ from the body, labeled with the given names. */
export function differenceLines(
  { at: offset, before, body, yours, bytes }: BodyDifference,
  nameOfBody: string,
  nameOfSigned: string,
): readonly string[] {
  const width = Math.max(nameOfBody.length, nameOfSigned.length) + 1;
  return [
    `Body:  ${bytes} bytes were signed. The first difference is at byte ${offset + 1}.`,
    `  ${nameOfBody.padEnd(width)}${escaped(before + body)}`,
    `  ${nameOfSigned.padEnd(width)}${escaped(before + yours)}`,
  ];
}
