import { fourfoldRatio, linearForFourfold } from "@svc-webhooks/kit/cpu-ratio";
import { eachNth } from "@svc-webhooks/kit/sized";
import { textShapes } from "@svc-webhooks/kit/text-shapes";
import { describe, expect, test } from "vitest";
import { createRedactor, type Redactor } from "../src/redact/redactor.js";

const key = new Uint8Array(32);

const isJson = (text: string) => /^(?:\{"a.*\}|\[\{.*\])$/s.test(text);

/** The places in which a text can be. */
const places: Readonly<Record<string, (redactor: Redactor, text: string) => void>> = {
  "a value"(redactor, text) {
    redactor.json(isJson(text) ? text : JSON.stringify({ data: { x: text, type: text } }));
  },
  "the name of a member": (redactor, text) => redactor.json(JSON.stringify({ [text]: [1, 2, 3] })),
  "a form": (redactor, text) => redactor.form(text),
  "an encoded parameter": (redactor, text) =>
    redactor.form(new URLSearchParams({ u: text }).toString()),
  "a URL": (redactor, text) => redactor.text(`http://a.b/${text}`),
  "many numbers"(redactor, text) {
    redactor.json(`[${"1234567,".repeat(text.length / 8)}${"7".repeat(text.length)}]`);
  },
};

describe.each(Object.entries(places))("redacts %s in linear time", (_place, redact) => {
  test.each(eachNth(Object.entries(textShapes), 3))("of %s", async (_name, shape) => {
    const ratio = await fourfoldRatio((size) => {
      const text = shape(size);
      return () => redact(createRedactor({ key }), text);
    });
    expect(ratio).toBeLessThan(linearForFourfold);
  });
});

test("redacts a long name with combining marks in linear time", async () => {
  const ratio = await fourfoldRatio((size) => {
    const body = JSON.stringify({
      [`a${"\u0301".repeat(size / 2)}${"\u0323".repeat(size / 2)}`]: 1,
    });
    return () => createRedactor({ key }).json(body);
  });
  expect(ratio).toBeLessThan(linearForFourfold);
});
