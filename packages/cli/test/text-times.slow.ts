import { cpuRatio } from "@svc-webhooks/kit/cpu-ratio";
import { textShapes } from "@svc-webhooks/kit/text-shapes";
import { expect, test } from "vitest";
import { createRedactor } from "../src/redact/redactor.js";

/** The most for a text that is four times as long: linear time takes 4 times as long, and quadratic time 16. */
const mostForFourfold = 10;

const key = new Uint8Array(32);

/** Learns and rewrites a body as `redact` and `listen --redact` do. */
const redacted = (body: string) => () => {
  const redactor = createRedactor({ key });
  redactor.learn(body);
  return redactor.json(body);
};

const isJson = (text: string) => /^(?:\{"a.*\}|\[\{.*\])$/s.test(text);

test.each(Object.entries(textShapes))("redacts %s in linear time", async (_name, shape) => {
  const of = (length: number) => {
    const text = shape(length);
    return redacted(
      isJson(text) ? text : JSON.stringify({ name: "Zebulon Quux", data: { x: text } }),
    );
  };
  expect(await cpuRatio(of(32_000), of(8_000))).toBeLessThan(mostForFourfold);
});

test.each(Object.entries(textShapes))(
  "redacts %s under names of each kind in linear time",
  async (_name, shape) => {
    const of = (length: number) => {
      const text = shape(length);
      const names = ["secret", "name", "email", "text", "phone", "location", "ip", "birthday"];
      return redacted(JSON.stringify(Object.fromEntries(names.map((name) => [name, text]))));
    };
    expect(await cpuRatio(of(8_000), of(2_000))).toBeLessThan(mostForFourfold);
  },
);

test.each(Object.entries(textShapes))(
  "redacts the path %s in linear time",
  async (_name, shape) => {
    const of = (length: number) => () => createRedactor({ key }).path(`/${shape(length)}`);
    expect(await cpuRatio(of(32_000), of(8_000))).toBeLessThan(mostForFourfold);
  },
);
