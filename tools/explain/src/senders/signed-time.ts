import type { Scheme } from "@svc-webhooks/core";
import { textOf } from "../search/bytes.js";
import { headerOf, type Arrived } from "./arrived.js";

/** The maximum length of a header in which to look for times, in characters. */
const longest = 1_024;

/** The maximum number of possible times to return. */
const most = 5;

/** A time as it is written in a request. */
export interface WrittenTime {
  readonly text: string;
  /** The time in epoch milliseconds. */
  readonly at: number;
}

/**
 * Returns up to five possible times from the scheme's headers and from the body's `webhookTimestamp`. A number of 10
 * digits is a time in seconds, one of 13 digits a time in milliseconds.
 */
export function timesIn(scheme: Scheme, arrived: Arrived): readonly WrittenTime[] {
  const values = scheme.headers.map((name) => headerOf(arrived, name) ?? "");
  const inBody = /"webhookTimestamp"\s*:\s*\d{13}/.exec(textOf(arrived.body));
  return [...values, inBody?.[0] ?? ""]
    .filter(({ length }) => length <= longest)
    .flatMap((value) => value.match(/(?<![\da-f])\d{10}(?:\d{3})?(?![\da-f])/gi) ?? [])
    .slice(0, most)
    .map((text) => ({ text, at: Number(text) * (text.length === 10 ? 1_000 : 1) }));
}
