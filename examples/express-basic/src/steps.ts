import type { Sending } from "./sender.js";

/** One scene of the story. */
export interface Step {
  readonly what: string;
  /** Sent at once. */
  readonly send: readonly Sending[];
  /** The outcomes that must come back, in any order. */
  readonly expected: readonly string[];
  /** How often a handler must have been started. */
  readonly runs: number;
  readonly path?: string;
}

export const secrets = { current: "whsec_demo_current", old: "whsec_demo_old" };

const delivered = (n: number): Sending => ({
  deliveryId: `dlv_${n}`,
  body: JSON.stringify({ type: "email.delivered", data: { email_id: `msg_${n}` } }),
  secret: secrets.current,
});

function domainUpdated(domainName: string): string {
  return JSON.stringify({ type: "domain.updated", data: { domain_name: domainName } });
}

const again = (sending: Sending): Sending => ({ ...sending, attempt: 2 });

export const first: Sending = delivered(1);
/** The handler keeps this one until its copies have been answered. */
export const slow: Sending = delivered(2);
/** The handler fails on this one's first run. */
export const flaky: Sending = {
  ...delivered(3),
  body: domainUpdated("example.com"),
};
/** The handler says that this one can never succeed. */
export const hopeless: Sending = { ...delivered(11), body: domainUpdated("gone.example") };

export const steps: readonly Step[] = [
  { what: "a delivery", send: [first], expected: ["processed"], runs: 1 },
  { what: "its retry", send: [again(first)], expected: ["duplicate"], runs: 0 },
  {
    what: "five copies at once",
    send: [slow, slow, slow, slow, slow],
    expected: ["processed", "in_flight", "in_flight", "in_flight", "in_flight"],
    runs: 1,
  },
  { what: "a retry of one of them", send: [again(slow)], expected: ["duplicate"], runs: 0 },
  { what: "a handler that fails", send: [flaky], expected: ["handler_failed"], runs: 1 },
  {
    what: "its retry, and now it succeeds",
    send: [again(flaky)],
    expected: ["processed"],
    runs: 1,
  },
  { what: "a handler that gives up", send: [hopeless], expected: ["parked"], runs: 1 },
  {
    what: "a body changed on the way",
    send: [{ ...delivered(4), sentBody: delivered(5).body }],
    expected: ["signature_mismatch"],
    runs: 0,
  },
  {
    what: "a wrong secret",
    send: [{ ...delivered(6), secret: "whsec_demo_wrong" }],
    expected: ["signature_mismatch"],
    runs: 0,
  },
  {
    what: "the old secret, during a rotation",
    send: [{ ...delivered(7), secret: secrets.old }],
    expected: ["processed"],
    runs: 1,
  },
  {
    what: "a type nobody handles",
    send: [{ ...delivered(8), body: JSON.stringify({ type: "email.sent" }) }],
    expected: ["ignored"],
    runs: 0,
  },
  {
    what: "a body of 2 MiB",
    send: [{ ...delivered(9), body: " ".repeat(2 ** 21) }],
    expected: ["body_too_large"],
    runs: 0,
  },
  {
    what: "express.json() mounted before",
    send: [delivered(10)],
    path: "/mistake",
    expected: ["body_unavailable"],
    runs: 0,
  },
];
