import type { Receiver } from "@svc-webhooks/core";
import { adapterCases } from "./adapter-cases.js";
import { contractReceiver } from "./contract-receiver.js";
import { Probe } from "./probe.js";

/** The two functions that a contract needs of a test runner: vitest, jest, `node:test` and mocha have them. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (name: string, body: () => Promise<void>) => unknown;
}

/**
 * What gets the request before the adapter: nothing; a parser that reads the body and keeps what it
 * made of it; a reader that keeps the exact bytes where this framework keeps them; something that
 * hands on fewer bytes than `Content-Length` announces.
 */
export type Before = "nothing" | "parser" | "keeper" | "cutter";

export interface MountedAdapter {
  /** Where deliveries are sent, `http://host:port/path`. */
  readonly url: string;
  /** Called after each case. */
  readonly close?: (() => unknown) | undefined;
}

/**
 * Mounts the adapter under test, for every method, and serves it over HTTP. Called for each case.
 * A server in another process makes its own `contractReceiver()`, one for each `before`.
 */
export type MountAdapter = (
  receiver: Receiver,
  before: Before,
) => MountedAdapter | Promise<MountedAdapter>;

/**
 * Every mistake that an adapter can make with requests and answers, as tests that it does not:
 * `adapterContract({ describe, it }, "my adapter", mount)`.
 *
 * Runs on Node, where the tests are; the adapter may be served by anything.
 */
export function adapterContract(
  { describe, it }: TestRunner,
  name: string,
  mount: MountAdapter,
): void {
  describe(name, () => {
    for (const { title, before = "nothing", run } of adapterCases) {
      it(title, async () => {
        const { url, close } = await mount(contractReceiver(), before);
        try {
          await run(new Probe(url));
        } finally {
          await close?.();
        }
      });
    }
  });
}
