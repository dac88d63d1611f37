import { fourfoldRatio, linearForFourfold } from "@svc-webhooks/kit/cpu-ratio";
import { textShapes } from "@svc-webhooks/kit/text-shapes";
import { expect, test } from "vitest";
import { maskOf } from "../src/lib/mask.js";
import { cleaned } from "../src/lib/untrusted.js";
import { secret } from "./support.js";

const mask = maskOf([secret]);

/** Texts that the decoders of the mask and the cleaner search, in addition to those of any program. */
const shapes = {
  ...textShapes,
  ...Object.fromEntries(
    [secret, "\u001b[", "\u001b]0;", "41 ", "0x41, ", "\\\\", "&sol", "%25", "ﷺ", "whsec_"].map(
      (part) => [JSON.stringify(part), (length: number) => part.repeat(length / part.length)],
    ),
  ),
};

test.each(Object.entries(shapes))("cleans and masks %s in linear time", async (_name, shape) => {
  const ratio = await fourfoldRatio((size) => {
    const text = shape(size);
    return () => mask(cleaned(text));
  });
  expect(ratio).toBeLessThan(linearForFourfold);
});
