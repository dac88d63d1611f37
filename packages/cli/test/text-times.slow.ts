import { fourfoldRatio, linearForFourfold } from "@svc-webhooks/kit/cpu-ratio";
import { textShapes } from "@svc-webhooks/kit/text-shapes";
import { describe, expect, test } from "vitest";
import { createRedactor, type Redactor } from "../src/redact/redactor.js";

const key = new Uint8Array(32);

const isJson = (text: string) => /^(?:\{"a.*\}|\[\{.*\])$/s.test(text);

/** Learns and rewrites a body as `redact` and `listen --redact` do. */
function json(redactor: Redactor, body: string) {
  redactor.learn(body);
  redactor.json(body);
}

const names = ["secret", "name", "email", "text"];

/** The places in which a text can be, with what `redact` and `listen --redact` do with it. */
const places: Readonly<Record<string, (redactor: Redactor, text: string) => void>> = {
  "a value": (redactor, text) =>
    json(
      redactor,
      isJson(text) ? text : JSON.stringify({ name: "Zebulon Quux", data: { x: text } }),
    ),
  "values under names of each kind": (redactor, text) =>
    json(redactor, JSON.stringify(Object.fromEntries(names.map((name) => [name, text])))),
  "the name of a member": (redactor, text) => json(redactor, JSON.stringify({ [text]: [1, 2, 3] })),
  "a form"(redactor, text) {
    redactor.learn(text);
    redactor.form(text);
  },
  "a URL": (redactor, text) => redactor.text(`http://a.b/${text}`),
  "a path": (redactor, text) => redactor.path(`/${text}`),
  "a query": (redactor, text) => redactor.path(`/?u=${text}`),
  "an encoded parameter": (redactor, text) =>
    redactor.path(`/?${new URLSearchParams({ u: text }).toString()}`),
  "a line of cookies": (redactor, text) => redactor.text(`Cookie: ${text}`),
  "a header": (redactor, text) => redactor.field("x-request", text),
};

describe.each(Object.entries(places))("redacts %s in linear time", (_place, redact) => {
  test.each(Object.entries(textShapes))("of %s", async (_name, shape) => {
    const ratio = await fourfoldRatio((size) => {
      const text = shape(size);
      return () => redact(createRedactor({ key }), text);
    });
    expect(ratio).toBeLessThan(linearForFourfold);
  });
});
