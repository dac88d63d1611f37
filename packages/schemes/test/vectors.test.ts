import { fakeClock } from "@svc-webhooks/testing";
import { describe, expect, test } from "vitest";
import { receiving } from "./support.js";
import { vectors } from "./vectors.js";

describe("a published example", () => {
  test.each(vectors)("of $source ends as $code", async (vector) => {
    const clock = fakeClock();
    if (vector.seconds) clock.jump(vector.seconds * 1_000 - clock.now());
    const { receive } = receiving(vector.scheme, { secret: vector.secret, clock });
    expect(await receive(vector.headers, vector.body)).toMatchObject({ code: vector.code });
    const changed = await receive(vector.headers, `${vector.body} `);
    expect(changed).toMatchObject({ code: "signature_mismatch" });
  });
});
