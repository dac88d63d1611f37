import { fileURLToPath } from "node:url";
import type { MiniflareOptions } from "miniflare";
import { expect, onTestFinished, test } from "vitest";
import { dial, requestHead } from "@svc-webhooks/kit/clients";
import { until } from "@svc-webhooks/kit/until";
import { signed } from "@svc-webhooks/kit/deliveries";
import { bundled } from "@svc-webhooks/kit/launch";
import { codeOf, signedInit } from "@svc-webhooks/kit/web";
import { workerd } from "@svc-webhooks/kit/workers";

const script = await bundled(fileURLToPath(new URL("worker.ts", import.meta.url)), "workerd");

function start(bindings?: Partial<MiniflareOptions>): Promise<URL> {
  const worker = workerd(script, bindings);
  onTestFinished(() => worker.dispose());
  return worker.ready;
}

// A service binding returns a function for every property.
test.each<[string, Partial<MiniflareOptions>]>([
  ["a variable", { bindings: { incoming: "on" } }],
  ["a JSON variable", { bindings: { incoming: { socket: {}, complete: true } } }],
  ["a KV namespace", { kvNamespaces: ["incoming"] }],
  ["a service", { serviceBindings: { incoming: () => new Response() as never } }],
])(
  "a handler finishes after the response on a Worker with %s named incoming",
  async (_what, bindings) => {
    const { origin } = await start(bindings);
    const response = await fetch(`${origin}/webhooks`, await signedInit());
    expect(await codeOf(response)).toBe("handler_timeout");
    const hasFinished = async () => (await (await fetch(`${origin}/finished`)).json()) === true;
    await until(hasFinished, "the handler finishes");
  },
);

// workerd accepts both headers, without any flag.
test("a Content-Length with Transfer-Encoding does not lift maxBodyBytes on a Worker", async () => {
  const { port } = await start();
  const { headers } = await signed(" ", { "content-length": "5", "transfer-encoding": "chunked" });
  const { write, response } = dial(Number(port));
  // The body never ends: only a reader that counts bytes responds before `bodyTimeoutMs`.
  write(`${requestHead(headers)}400\r\n${" ".repeat(1_024)}\r\n`);
  expect(await response).toMatch(/^HTTP\/1\.1 413 /);
});
