import { Miniflare } from "miniflare";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";

const worker = `
  import { createReceiver, memoryStore } from "@svc-webhooks/core";
  import { fakeClock, fixture, signedDelivery, signedRequest, tamper } from "@svc-webhooks/testing";
  import { contractReceiver } from "@svc-webhooks/testing/contract-receiver";
  import { faultyStore } from "@svc-webhooks/testing/faulty-store";
  import { stripe } from "@svc-webhooks/schemes";

  const store = faultyStore(memoryStore(), { claim: { 1: { fails: "before" } } });
  const on = { "*": () => {} };
  const secret = "whsec_test";
  const ofStripe = createReceiver({ secret, scheme: stripe(), on, log: () => {} });
  const receiver = createReceiver({ secret: "whsec_test", clock: fakeClock(), store, on, log: () => {} });

  export default {
    async fetch() {
      const delivery = await signedDelivery(fixture("email.sent"));
      const { code: down } = await receiver.receive(delivery);
      const { code: tampered } = await receiver.receive(tamper.flippedByte(delivery));
      const { code } = await receiver.receive(delivery);
      const { status } = await receiver.fetch(await signedRequest({ type: "email.sent" }));
      const forged = await contractReceiver().fetch(await signedRequest({ type: "email.sent" }));
      const paid = await ofStripe.fetch(await signedRequest({}, { scheme: "stripe", secret }));
      return Response.json([down, tampered, code, status, forged.status, paid.status]);
    },
  };
`;

test("every entry without a contract runs in a Worker, without tree shaking", async () => {
  const bundle = await rolldown({
    input: "worker",
    plugins: [
      {
        name: "worker",
        resolveId: (id) => (id === "worker" ? id : undefined),
        load: (id) => (id === "worker" ? worker : undefined),
      },
    ],
    cwd: import.meta.dirname,
    resolve: { conditionNames: ["workerd", "worker", "browser", "import"] },
    platform: "browser",
    treeshake: false,
  });
  const { output } = await bundle.generate({ format: "esm" });
  expect(output[0].imports).toEqual([]);
  const miniflare = new Miniflare({
    modules: true,
    script: output[0].code,
    compatibilityDate: "2025-06-01",
    cf: false,
  });
  try {
    const response = await miniflare.dispatchFetch("http://localhost/");
    const codes = ["store_unavailable", "signature_mismatch", "processed", 200, 401, 200];
    expect(await response.json()).toEqual(codes);
  } finally {
    await miniflare.dispose();
  }
});
