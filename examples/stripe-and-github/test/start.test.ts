import { expect, test } from "vitest";
import { npm } from "@svc-webhooks/kit/npm";
import { root } from "@svc-webhooks/kit/programs";

test("prints the outcome of each request of Stripe and GitHub, and exits with 0", async () => {
  const { exitCode, stdout } = await npm(["start", "-w", "examples/stripe-and-github"], {
    cwd: root,
  });
  const [, stripe = "", github = ""] = stdout.split(/^ {2}\/webhooks\/.*\n/m);
  expect(stripe.trimEnd().split("\n")).toEqual([
    expect.stringMatching(/^✓ a new event +200 {2}processed$/),
    '  paid: {"id":"in_1","amount_paid":4900}',
    expect.stringMatching(/^✓ its retry, signed again +200 {2}duplicate$/),
    expect.stringMatching(/^✓ a request from 1 hour ago +401 {2}signature_stale$/),
    expect.stringMatching(/^✓ a body changed in transit +401 {2}signature_mismatch$/),
    expect.stringMatching(/^✓ a request from GitHub +401 {2}signature_missing$/),
  ]);
  expect(github.trimEnd().split("\n")).toEqual([
    expect.stringMatching(/^✓ a new event +200 {2}processed$/),
    '  opened: {"node_id":"I_1","title":"It works"}',
    expect.stringMatching(/^✓ its redelivery +200 {2}duplicate$/),
    expect.stringMatching(/^✓ a replay under another id +200 {2}duplicate$/),
    expect.stringMatching(/^✓ a replay as another event +200 {2}ignored$/),
    "",
    "9 of 9 requests ended as expected.",
  ]);
  expect(exitCode).toBe(0);
});
