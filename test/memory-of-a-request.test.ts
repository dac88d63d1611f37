import { expect, test } from "vitest";
import { dial, requestHead } from "./support/clients.js";
import { forgedSignature, signed } from "./support/deliveries.js";
import { serverKinds, serverProcess } from "./support/server-process.js";

/** A list of so many pieces took 416 MiB of `node:http` and 1,173 MiB of Hono; read and dropped they take 4 to 7. */
const mostMiB = 60;

const chunked = { "transfer-encoding": "chunked" };

// Below the limit of 1 MiB, and with a signature that only the whole body shows to be forged.
test.each(serverKinds)(
  "a million chunks of one byte take less than 60 MiB of %s",
  async (kind) => {
    const { port, peak } = await serverProcess(kind);
    const { headers, body } = await signed();
    const genuine = { ...headers, "content-length": String(body.length), connection: "close" };
    const first = dial(port);
    first.write(`${requestHead(genuine)}${body.toString()}`);
    expect(await first.closed).toContain('"processed"');
    const before = await peak();

    const client = dial(port);
    client.write(requestHead({ ...headers, ...chunked, "x-svc-signature": forgedSignature }));
    client.write(Buffer.from(`${"1\r\nx\r\n".repeat(1_000_000)}0\r\n\r\n`));
    // It is served after all of the body has been read.
    client.write(`${requestHead(genuine)}${body.toString()}`);
    expect(await client.closed).toMatch(
      /^HTTP\/1.1 4\d\d [^]*"(?:body_too_large|signature_mismatch)"[^]*HTTP\/1.1 200 [^]*"duplicate"/,
    );
    expect((await peak()) - before).toBeLessThan(mostMiB);
  },
  60_000,
);
