import type { RequestListener } from "node:http";
import type { Bar } from "../race.js";
import type { Handle } from "./handler.js";

/** What a receiver is there for, beyond running a handler and telling how that went. */
export type Duty = "signature" | "duplicates" | "body limit";

export interface Contender {
  readonly name: string;
  /** What it leaves to others. */
  readonly lacks: readonly Duty[];
  /** Makes a server's listener: it takes deliveries at `/webhooks` and answers once `handle` has ended. */
  readonly mount: (handle: Handle) => RequestListener;
}

/** Contenders on the same platform, and what is promised of them. */
export interface Group {
  readonly title: string;
  readonly contenders: readonly Contender[];
  readonly bars: readonly Bar[];
}
