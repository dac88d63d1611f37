import { expect, test } from "vitest";
import { receiverByHand } from "../src/byhand/receive.js";
import { isGenuine } from "../src/byhand/signature.js";
import { checkReceiver, type MakeReceiver } from "../src/check-receiver.js";
import { eventType, secret } from "../src/deliveries.js";

interface Flaws {
  readonly trusts?: boolean;
  readonly trustsKnownIds?: boolean;
  readonly forgets?: boolean;
  readonly sharesWhatRuns?: boolean;
  readonly hidesFailures?: boolean;
  readonly keepsFailures?: boolean;
}

/** A receiver that does what the check wants, but for its flaws. */
const receiverWith =
  (flaws: Flaws): MakeReceiver =>
  (handle) => {
    const states = new Map<string, "running" | "done">();
    return async ({ headers, body }) => {
      const id = headers["x-svc-delivery-id"] ?? "";
      const signature = headers["x-svc-signature"] ?? "";
      if (flaws.trustsKnownIds && states.has(id)) return 200;
      if (!flaws.trusts && !isGenuine(body, signature, secret)) return 401;
      if (!flaws.forgets && states.get(id) === "done") return 200;
      if (states.get(id) === "running") return flaws.sharesWhatRuns ? 200 : 503;
      states.set(id, "running");
      try {
        await handle();
        states.set(id, "done");
        return 200;
      } catch {
        if (flaws.keepsFailures) states.set(id, "done");
        else states.delete(id);
        return flaws.hidesFailures ? 200 : 500;
      }
    };
  };

const byHand: MakeReceiver = (handle) => {
  const receive = receiverByHand({ secret, on: { [eventType]: handle } });
  return ({ headers, body }) => receive(headers, body);
};

test.each([
  ["without a flaw", receiverWith({})],
  ["by hand", byHand],
])("a receiver %s passes the check", async (_name, make) => {
  await expect(checkReceiver(make)).resolves.toBeUndefined();
});

test.each<[keyof Flaws, string]>([
  ["trusts", "tampered: answered 200, 1 runs so far; right is 401, 0 runs so far"],
  ["trustsKnownIds", "tampered duplicate: answered 200"],
  ["forgets", "duplicate: answered 200, 2 runs so far; right is 200, 1 runs so far"],
  ["sharesWhatRuns", "copy of what runs: answered 200"],
  ["hidesFailures", "failed: answered 200"],
  ["keepsFailures", "next attempt: answered 200, 3 runs so far"],
])("one that %s does not", async (flaw, message) => {
  await expect(checkReceiver(receiverWith({ [flaw]: true }))).rejects.toThrow(message);
});

test("one that never runs the handler does not", async () => {
  await expect(checkReceiver(() => async () => 401)).rejects.toThrow("new: answered 401");
});
