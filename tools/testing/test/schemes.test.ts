import { createReceiver, type Receiver } from "@svc-webhooks/core";
import { senders, splitAtSignature, type SenderName } from "@svc-webhooks/schemes/senders";
import { schemesUnderTest } from "@svc-webhooks/kit/schemes";
import { describe, expect, test } from "vitest";
import {
  fakeClock,
  signedDelivery,
  signedRequest,
  tamper,
  type SignedDelivery,
} from "../src/index.js";
import { receiverForgeries, type Sending } from "../src/forgeries.js";

type Change = (delivery: SignedDelivery) => SignedDelivery | Promise<SignedDelivery>;

const clock = fakeClock();
const at = clock.now();

const bodyOf = ({ body }: SignedDelivery) => new Response(body).json() as Promise<object>;

describe.each(await schemesUnderTest())("$name", ({ name, scheme, secret, signingSecret }) => {
  const { form, isTimed, timeField, signsId, sendsLists, type } = senders[name];

  const receiver = (): Receiver =>
    createReceiver({ scheme, secret, clock, on: { "*": () => {} }, log: () => {} });
  const signed = (event: unknown = {}) =>
    signedDelivery(event, { scheme: name, secret: signingSecret, at });
  /** Returns the outcome of a changed delivery. */
  const codeOf = async (change: Change) =>
    (await receiver().receive(await change(await signed()))).code;

  test("an empty event is completed, processed and then a duplicate", async () => {
    const { receive } = receiver();
    const delivery = await signed();
    expect(await receive(delivery)).toMatchObject({
      code: "processed",
      type: sendsLists ? "events" : type,
    });
    expect((await receive(delivery)).code).toBe("duplicate");
  });

  test("each delivery has an id of its own", async () => {
    const { receive } = receiver();
    for (const delivery of [await signed(), await signed()]) {
      expect((await receive(delivery)).code).toBe("processed");
    }
  });

  test("the signature's header is that of the scheme, and its form that of the sender", async () => {
    const { headers } = await signed();
    expect(form.header).toBe(scheme.headers[0]);
    expect(headers[form.header]).toContain(form.prefix);
  });

  test("a signature with one wrong digit never has the same bytes", async () => {
    const wrong = receiverForgeries(senders[name]).filter(([, title]) =>
      /digit (?:in|is)/.test(title),
    );
    expect(wrong).toHaveLength(4);
    // The last digit of base64 has 4 or 16 forms.
    for (let n = 0; n < 40; n += 1) {
      const delivery = await signed({ n });
      const bytesOf = (headers: Sending["headers"]) =>
        Buffer.from(
          splitAtSignature(String(headers?.[form.header]), form.prefix)[1],
          form.encoding,
        );
      for (const [, , change] of wrong) {
        const forged = await change(delivery, secret);
        expect(bytesOf(forged?.headers)).not.toEqual(bytesOf(delivery.headers));
      }
    }
  });

  test.each<readonly [string, Change, string]>([
    ["wrongSecret", (one) => tamper.wrongSecret(one), "signature_mismatch"],
    ["flippedByte", tamper.flippedByte, "signature_mismatch"],
    ["truncated", tamper.truncated, "signature_mismatch"],
    ["reserialized", tamper.reserialized, "signature_mismatch"],
    ["missingHeader", (one) => tamper.missingHeader(one), "signature_missing"],
    ["duplicateHeader", (one) => tamper.duplicateHeader(one), "signature_malformed"],
    ["twoHeaders", tamper.twoHeaders, "signature_malformed"],
    ["huge", (one) => tamper.huge(one), "body_too_large"],
    ["notJson", (one) => tamper.notJson(one), "malformed_body"],
    ["otherId", (one) => tamper.otherId(one), signsId ? "signature_mismatch" : "processed"],
  ])("a receiver sees what %s has changed", async (_name, change, code) => {
    expect(await codeOf(change)).toBe(code);
  });

  const { idField } = form;
  test.each(idField ? [idField] : [])("otherId changes only the field %s", async (field) => {
    for (const event of [
      {},
      `{"copy":"outer","data":{"${field}":"outer"},"${field}":"outer"}`,
      `{"${field}":"\\u006futer"}`,
    ]) {
      const delivery = await signed(event);
      const changed = await bodyOf(tamper.otherId(delivery, "dlv_other"));
      expect(changed).toEqual({ ...(await bodyOf(delivery)), [field]: "dlv_other" });
    }
    for (const event of ["null", `[{"${field}":"inner"}]`, `{"data":{"${field}":"inner"}}`]) {
      const delivery = await signed(event);
      expect(() => tamper.otherId(delivery)).toThrow(`has no field \`${field}\``);
    }
  });

  test.each(timeField ? [timeField] : [])("stale changes only the field %s", async (field) => {
    const delivery = await signed(`{"data":{"${field}":1},"${field}":${at}}`);
    const stale = await tamper.stale(delivery, 5);
    expect(await bodyOf(stale)).toEqual({ data: { [field]: 1 }, [field]: at - 5 });
    for (const event of ["null", "[]", `{"data":{"${field}":1}}`]) {
      await expect(tamper.stale(await signed(event))).rejects.toMatchObject({
        code: "invalid_option",
        message: expect.stringContaining(`has no field \`${field}\``) as string,
      });
    }
  });

  /** The changes that need something of the sender, and the outcome for those that have it. */
  test.each<readonly [string, Change, unknown, string]>([
    ["upperCaseHex", tamper.upperCaseHex, form.encoding === "hex", "processed"],
    ["missingPrefix", tamper.missingPrefix, form.prefix, "signature_malformed"],
    ["extraSignature", tamper.extraSignature, form.separator, "processed"],
    ["stale", (one) => tamper.stale(one), isTimed, "signature_stale"],
    ["future", (one) => tamper.future(one), isTimed, "signature_stale"],
    [
      "forgedDeliveryId",
      (one) => tamper.forgedDeliveryId(one),
      form.idHeaders.length > 0,
      signsId ? "signature_mismatch" : "processed",
    ],
  ])("%s changes what the sender has, or refuses", async (_name, change, isPresent, code) => {
    if (isPresent) expect(await codeOf(change)).toBe(code);
    else {
      await expect(codeOf(change)).rejects.toMatchObject({
        code: "invalid_option",
        message: expect.stringContaining(`\`delivery\` comes from ${name}, wh`) as string,
      });
    }
  });

  test("text and bytes become the body unchanged, and headers are replaced", async () => {
    const { body, headers } = await signedDelivery("text", {
      scheme: name,
      secret: signingSecret,
      headers: { "content-type": undefined, [form.header]: "own" },
    });
    expect(await new Response(body).text()).toBe("text");
    expect(headers).not.toHaveProperty("content-type");
    expect(headers[form.header]).toBe("own");
  });

  test("a request has the same signature", async () => {
    const request = await signedRequest({}, { scheme: name, secret: signingSecret, at });
    expect((await receiver().fetch(request)).ok).toBe(true);
  });

  test("no property of a delivery has the secret", async () => {
    expect(JSON.stringify(await signed())).not.toContain(signingSecret);
  });
});

test.each([
  [{ scheme: "strip" }, "invalid_option", "scheme"],
  [{ scheme: "toString" }, "invalid_option", "scheme"],
  [{ scheme: undefined, at: 1 }, "unknown_option", "at"],
  [{ at: NaN }, "invalid_option", "at"],
  [{ secret: new Uint8Array(9) }, "invalid_option", "secret"],
  [{ attempt: 2 }, "unknown_option", "attempt"],
])("refuses the options %j", async (wrong, code, option) => {
  const options = { scheme: "stripe" as SenderName, secret: "whsec_test", ...wrong } as never;
  await expect(signedDelivery({}, options)).rejects.toMatchObject({ code, option });
});
