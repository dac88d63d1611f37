import { answer, parseDelivery, serializeDelivery } from "@svc-webhooks/core";
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { senders as known } from "../src/senders.js";
import { senders, sendersWith, withHeader, signedWorldOf, worldOf } from "./support.js";

const day = 86_400_000;

describe.each(senders)("$name", (one) => {
  test("a signed delivery is processed once, with its type and its id", async () => {
    const { receive, sign, clock, events } = await worldOf(one);
    const body = one.body({ at: clock.now(), id: "dlv_1" });
    const headers = await sign(body, { at: clock.now() });
    const outcome = await receive(headers, body);
    const id = one.id === "hash" ? createHash("sha256").update(body).digest("hex") : "dlv_1";
    expect(outcome).toMatchObject({ code: "processed", type: one.type, deliveryId: id });
    expect(await receive(headers, body)).toMatchObject({ code: "duplicate", deliveryId: id });
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ type: one.type });
  });

  test("the body is covered by the signature", async () => {
    const { receive, body, headers } = await signedWorldOf(one);
    expect(await receive(headers, `${body} `)).toMatchObject({ code: "signature_mismatch" });
    expect(await receive(headers, body.slice(1))).toMatchObject({ code: "signature_mismatch" });
  });

  test("of two keys the second one is accepted, with the warning old_secret", async () => {
    const { secret } = await known[one.name].testKeys();
    const keys = await known[one.name].testKeys();
    const { receive, clock } = await worldOf(one, { secret: [secret, keys.secret] });
    const body = one.body({ at: clock.now() });
    const { sign } = await worldOf(one);
    const headers = await sign(body, { at: clock.now(), secret: keys.signingSecret });
    expect(await receive(headers, body)).toMatchObject({
      code: "processed",
      secretId: "2",
      warnings: ["old_secret"],
    });
  });

  test("a parked delivery is processed by resume a day later, when its signed time is long past", async () => {
    const parked: string[] = [];
    const { receiver, receive, sign, clock } = await worldOf(one, {
      maxRuns: 1,
      on: {
        "*": () => {
          if (parked.length === 0) throw new Error("fails once");
        },
      },
      onHandlerError: () => {},
      onParked: (_error, { delivery }) => void parked.push(serializeDelivery(delivery)),
    });
    const body = one.body({ at: clock.now() });
    const headers = await sign(body, { at: clock.now() });
    expect(await receive(headers, body)).toMatchObject({ code: "handler_failed" });
    await clock.advance(1_000);
    expect(await receive(headers, body)).toMatchObject({ code: "parked" });
    await clock.advance(day);
    expect(await receiver.resume(parseDelivery(parked[0] ?? ""))).toMatchObject({
      code: "processed",
      type: one.type,
    });
  });
});

test.each(sendersWith(({ id }) => id === "body"))(
  "$name: another id is another event, because the id is in the signed body",
  async (one) => {
    const { receive, sign, clock } = await worldOf(one);
    for (const id of ["a", "b"]) {
      const body = one.body({ at: clock.now(), id });
      const outcome = await receive(await sign(body, { at: clock.now() }), body);
      expect(outcome).toMatchObject({ code: "processed", deliveryId: id, eventIdSigned: true });
    }
  },
);

test.each(["webhook", "svix"])(
  "the id and the time of %s are covered by the signature",
  async (prefix) => {
    const [one] = sendersWith(
      ({ name }) => name === (prefix === "svix" ? "svix" : "standard-webhooks"),
    );
    if (!one) throw new Error("There is no such sender.");
    const { receive, clock, body, headers } = await signedWorldOf(one);
    const changed = (name: string, text: string) =>
      receive(
        withHeader(headers, name, () => text),
        body,
      );
    expect(await changed(`${prefix}-id`, "dlv_2")).toMatchObject({ code: "signature_mismatch" });
    const later = String(Math.floor(clock.now() / 1_000) + 1);
    expect(await changed(`${prefix}-timestamp`, later)).toMatchObject({
      code: "signature_mismatch",
    });
  },
);

test("a delivery of Discord is acknowledged with 204 and no body", async () => {
  const [one] = sendersWith(({ name }) => name === "discord");
  if (!one) throw new Error("There is no such sender.");
  const { receive, body, headers } = await signedWorldOf(one);
  for (const code of ["processed", "duplicate"]) {
    const outcome = await receive(headers, body);
    expect(outcome.code).toBe(code);
    expect(answer(outcome)).toEqual({ status: 204, headers: {}, body: "" });
  }
});
