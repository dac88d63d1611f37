import type { Sending } from "./sender.js";

/** One step of the demo, and its expected result. */
export interface Step {
  readonly title: string;
  /** The deliveries, which are sent concurrently. */
  readonly send: readonly Sending[];
  /** The expected outcomes, in any order. */
  readonly expected: readonly string[];
  /** The expected number of handler starts. */
  readonly runs: number;
  readonly path?: string;
}

export const secrets = { current: "whsec_demo_current", old: "whsec_demo_old" };

export const delivered = (n: number): Sending => ({
  deliveryId: `dlv_${n}`,
  body: JSON.stringify({ type: "email.delivered", data: { email_id: `msg_${n}` } }),
  secret: secrets.current,
});

function domainUpdated(domainName: string): string {
  return JSON.stringify({ type: "domain.updated", data: { domain_name: domainName } });
}

const retry = (sending: Sending): Sending => ({ ...sending, attempt: 2 });

export const first: Sending = delivered(1);
/** A delivery whose handler runs until the other copies have their responses. */
export const slow: Sending = delivered(2);
/** A delivery whose handler fails on the first run. */
export const flaky: Sending = {
  ...delivered(3),
  body: domainUpdated("example.com"),
};
/** A delivery whose handler throws `PermanentError`. */
export const hopeless: Sending = { ...delivered(11), body: domainUpdated("gone.example") };

// Titles have at most 25 characters: a line of the table fits a terminal of 80 columns.
export const steps: readonly Step[] = [
  { title: "a new delivery", send: [first], expected: ["processed"], runs: 1 },
  { title: "its retry", send: [retry(first)], expected: ["duplicate"], runs: 0 },
  {
    title: "five concurrent copies",
    send: [slow, slow, slow, slow, slow],
    expected: ["processed", "in_flight", "in_flight", "in_flight", "in_flight"],
    runs: 1,
  },
  { title: "a retry of one copy", send: [retry(slow)], expected: ["duplicate"], runs: 0 },
  { title: "a handler that throws", send: [flaky], expected: ["handler_failed"], runs: 1 },
  {
    title: "its retry, which succeeds",
    send: [retry(flaky)],
    expected: ["processed"],
    runs: 1,
  },
  { title: "a permanent failure", send: [hopeless], expected: ["parked"], runs: 1 },
  {
    title: "a body altered in transit",
    send: [{ ...delivered(4), sentBody: delivered(5).body }],
    expected: ["signature_mismatch"],
    runs: 0,
  },
  {
    title: "a wrong secret",
    send: [{ ...delivered(6), secret: "whsec_demo_wrong" }],
    expected: ["signature_mismatch"],
    runs: 0,
  },
  {
    title: "the old, unexpired secret",
    send: [{ ...delivered(7), secret: secrets.old }],
    expected: ["processed"],
    runs: 1,
  },
  {
    title: "a type without a handler",
    send: [{ ...delivered(8), body: JSON.stringify({ type: "email.sent" }) }],
    expected: ["ignored"],
    runs: 0,
  },
  {
    title: "a body of 2 MiB",
    send: [{ ...delivered(9), body: " ".repeat(2 ** 21) }],
    expected: ["body_too_large"],
    runs: 0,
  },
  {
    title: "express.json() runs first",
    send: [delivered(10)],
    path: "/mistake",
    expected: ["body_unavailable"],
    runs: 0,
  },
];
