import { createSandbox } from "@svc-webhooks/sandbox";
import { apiKey } from "./support.js";

/** Words by the id of their assumption. */
export type Words = Readonly<Record<string, string>>;

/** A word for each alternative of the ledger that has a placeholder. */
const words: Words = {
  "extra:<type>,<type>": "extra:email.opened,email.clicked",
  "<delay>,<delay>": "250ms,1m",
  "stop:<status>+<status>": "stop:500+410",
  "timeout:<duration>": "timeout:2s",
  "epoch:<limit>/<duration>": "epoch:4/10s",
  "delta:<limit>/<duration>": "delta:4/10s",
  "http-date:<limit>/<duration>": "http-date:4/10s",
  "deferred:<duration>": "deferred:30s",
  "keys:<key>,<key>": `keys:${apiKey},other`,
  "<size>": "2KiB",
};

/** The defaults, each alternative of the ledger, and many of them together. */
export const worlds: readonly Words[] = [
  {},
  ...createSandbox()
    .assumptions()
    .flatMap(({ id, alternatives }) => alternatives.map((one) => ({ [id]: words[one] ?? one }))),
  {
    "A-02": "minimal",
    "A-06": "reject",
    "A-09": "none",
    "A-11": "problem",
    "A-13": "422",
    "A-14": "422",
    "A-15": "array",
    "A-16": "http-date:4/10s",
    "A-17": "any",
    "A-18": "fresh",
    "A-22": "204",
    "A-23": "per-key",
    "A-27": "shared",
  },
];
