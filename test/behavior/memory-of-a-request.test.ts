import { sized } from "@svc-webhooks/kit/sized";
import { expect, test } from "vitest";
import { dial, requestHead } from "@svc-webhooks/kit/clients";
import { forgedSignature, signed } from "@svc-webhooks/kit/deliveries";
import { serverKinds, serverProcess } from "@svc-webhooks/kit/server-process";

const chunks = sized(300_000, 1_000_000);

/**
 * The memory limit. Keeping a million chunks in a list took 416 MiB on `node:http` and 1,173 MiB on Hono. Reading and
 * discarding them takes 4 to 7 MiB.
 */
const mostMiB = 60;

const chunked = { "transfer-encoding": "chunked" };

// The body is smaller than the limit of 1 MiB, and its forged signature is detected only once it has been read.
test.each(serverKinds)(`${chunks} chunks of one byte take less than 60 MiB on %s`, async (kind) => {
  const { port, peak } = await serverProcess(kind);
  const { headers, body } = await signed();
  const genuine = { ...headers, "content-length": String(body.length), connection: "close" };
  const first = dial(port);
  first.write(`${requestHead(genuine)}${body.toString()}`);
  expect(await first.closed).toContain('"processed"');
  const before = await peak();

  const client = dial(port);
  client.write(requestHead({ ...headers, ...chunked, "x-svc-signature": forgedSignature }));
  client.write(Buffer.from(`${"1\r\nx\r\n".repeat(chunks)}0\r\n\r\n`));
  // This request is served after the whole body has been read.
  client.write(`${requestHead(genuine)}${body.toString()}`);
  expect(await client.closed).toMatch(
    /^HTTP\/1.1 4\d\d [^]*"(?:body_too_large|signature_mismatch)"[^]*HTTP\/1.1 200 [^]*"duplicate"/,
  );
  expect((await peak()) - before).toBeLessThan(mostMiB);
});
