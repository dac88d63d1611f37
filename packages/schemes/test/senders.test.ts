import { expect, test } from "vitest";
import { senders } from "../src/senders.js";
import { signers, testKeys } from "../src/sign.js";

test.each(Object.values(senders))(
  "$name has its own name, header, signer and keys",
  async (sender) => {
    const { name, form, sign, key } = sender;
    expect(senders[name]).toBe(sender);
    expect(signers[name]).toBe(sign);
    const { secret, signingSecret } = await testKeys(name);
    expect(secret === signingSecret).toBe(key !== "public");
    const headers = await sign("{}", { secret: signingSecret });
    expect(headers[form.header]).toContain(form.prefix);
  },
);
