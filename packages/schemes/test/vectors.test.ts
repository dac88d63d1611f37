import { createReceiver, type Scheme } from "@svc-webhooks/core";
import { vectorFiles } from "@svc-webhooks/kit/vectors";
import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import { senders } from "../src/senders.js";
import { hmacPresets } from "../src/senders/hmac-presets.js";
import { standardPresets } from "../src/senders/standard-presets.js";

const schemeOf = new Map<string, Scheme>(
  Object.values(senders).map(({ name, scheme }) => [name, scheme]),
);

/** The outcomes of a request whose signature is not valid. */
const refusals = new Set([
  "signature_missing",
  "signature_malformed",
  "signature_mismatch",
  "signature_stale",
]);

/** The outcomes of examples that are not complete deliveries, or not events. */
const published: Readonly<Record<string, string>> = {
  // The event has no type.
  "the example of the standardwebhooks library": "event_untyped",
  "the example of GitHub's documentation": "malformed_body",
  // A form.
  "the example of Slack's documentation, a slash command": "malformed_body",
  // The bodies have no notification_id.
  "the example of paddle-node-sdk": "delivery_id_missing",
  "the example of paddle-node-sdk with several signatures": "delivery_id_missing",
  "the example of sendgrid-nodejs": "processed",
  "the example of SendGrid's other libraries, whose body is one event": "processed",
};

test("there is a file for the service and for each scheme that is not based on another one", () => {
  const names = vectorFiles.map(({ name }) => name);
  const own = Array.from(schemeOf.keys()).filter(
    (name) => !(name in standardPresets) && !(name in hmacPresets),
  );
  expect(names.toSorted()).toEqual(["service", ...own].toSorted());
  for (const { name, scheme } of vectorFiles) expect(scheme ?? "service").toBe(name);
});

describe.each(vectorFiles)("the vectors of $name", ({ name, secret: shared, vectors }) => {
  test("has valid and invalid signatures", () => {
    expect(new Set(vectors.map(({ valid }) => valid)).size).toBe(2);
  });

  test.each(vectors)("$title (valid: $valid)", async (vector) => {
    const clock = fakeClock();
    clock.jump(Date.parse(vector.now) - clock.now());
    const { secret = shared, headers, title, valid } = vector;
    const receiver = createReceiver({
      secret,
      clock,
      scheme: schemeOf.get(name),
      on: { "*": () => {} },
      log: () => {},
    });
    const receive = async (text: string) => {
      const body = Buffer.from(text);
      const { code } = await receiver.receive({ method: "POST", headers, body });
      return code;
    };
    const code = await receive(vector.body);
    expect(refusals.has(code)).toBe(!valid);
    if (vector.source) expect(code).toBe(published[title]);
    if (valid) expect(await receive(`${vector.body} `)).toBe("signature_mismatch");
  });
});
