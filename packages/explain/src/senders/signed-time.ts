import type { Scheme } from "@svc-webhooks/core";
import { textOf } from "../search/bytes.js";
import { headerOf, type Arrived } from "./arrived.js";

/** The longest header and the start of a body in which times are looked for, in characters. */
const longest = 1_024;

/** The most times that are tried. */
const most = 5;

/** A time as it is written in a request. */
export interface WrittenTime {
  readonly text: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Returns the possible times in a request: 10 digits are seconds, 13 are milliseconds. */
export function timesIn(scheme: Scheme, arrived: Arrived): readonly WrittenTime[] {
  const values = scheme.headers.map((name) => headerOf(arrived, name) ?? "");
  const inBody = /"webhookTimestamp"\s*:\s*\d{13}/.exec(textOf(arrived.body));
  return [...values, inBody?.[0] ?? ""]
    .filter(({ length }) => length <= longest)
    .flatMap((value) => value.match(/(?<![\da-f])\d{10}(?:\d{3})?(?![\da-f])/gi) ?? [])
    .slice(0, most)
    .map((text) => ({ text, at: Number(text) * (text.length === 10 ? 1_000 : 1) }));
}
