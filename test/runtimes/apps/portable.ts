import * as core from "@svc-webhooks/core";

/** The test cases 2 and 6 of RFC 4231: a short key, and one longer than a block. */
const vectors = [
  {
    key: "Jefe",
    body: "what do ya want for nothing?",
    hex: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  },
  {
    key: new Uint8Array(131).fill(0xaa),
    body: "Test Using Larger Than Block-Size Key - Hash Key First",
    hex: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
  },
];

/** Checks from inside a runtime that the core behaves as on every other. Resolves to the list of failures. */
export async function portable(): Promise<readonly string[]> {
  const failures: string[] = [];
  const expect = (what: string, actual: unknown, expected: unknown) => {
    if (actual !== expected) failures.push(`${what} is ${String(actual)}, not ${String(expected)}`);
  };

  for (const { key, body, hex } of vectors) {
    expect("the signature", await core.sign(body, key), `sha256=${hex}`);
    const upperCase = await core.verify(body, `sha256=${hex.toUpperCase()}`, key);
    expect("verify().ok", upperCase.ok, true);
    expect(
      "verify().ok for another body",
      (await core.verify(`${body} `, `sha256=${hex}`, key)).ok,
      false,
    );
  }

  const keys: string[] = [];
  const receiver = core.createReceiver({
    secret: "whsec_portable",
    on: { "*": (_event, { idempotencyKey }) => void keys.push(idempotencyKey) },
  });
  const body = '{"type":"email.sent"}';
  const headers = {
    "x-svc-signature": await core.sign(body, "whsec_portable"),
    "x-svc-delivery-id": "dlv_1",
  };
  const send = (init: RequestInit = {}) =>
    receiver.fetch(new Request("https://example.org", { method: "POST", body, headers, ...init }));

  const copies = await Promise.all(Array.from({ length: 20 }, () => send()));
  expect(
    "whether one of 20 copies gets 200",
    copies.filter(({ status }) => status === 200).length >= 1,
    true,
  );
  expect("the number of runs", keys.length, 1);
  // If the key differed between runtimes, a move to another runtime would lose all records.
  expect("the key", keys[0], "b93a392825d21e52f5154cd18f0e46f2");
  expect("the status of PUT", (await send({ method: "PUT" })).status, 405);
  expect("the result of drain", await receiver.drain({ deadlineMs: 1_000 }), 0);
  return failures;
}
