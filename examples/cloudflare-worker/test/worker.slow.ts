import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { signedDelivery } from "@svc-webhooks/testing";
import { Miniflare } from "miniflare";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { exampleEvent, exampleSecret } from "@svc-webhooks/kit/examples";
import { bundled, spawned } from "@svc-webhooks/kit/launch";
import { codeOf } from "@svc-webhooks/kit/web";

const folder = fileURLToPath(new URL("..", import.meta.url));

afterEach(() => vi.unstubAllEnvs());

/** Starts the example as `npm start` does. */
async function start() {
  const { origin, close } = await spawned(process.execPath, `${folder}start.js`);
  onTestFinished(async () => void (await close()));
  const send = async (delivery: RequestInit) => codeOf(await fetch(`${origin}/webhooks`, delivery));
  return { send, close };
}

test("a processed event is a duplicate concurrently, afterwards and after a restart", async () => {
  const records = mkdtempSync(join(tmpdir(), "svc-webhooks-worker-"));
  // This runs after the servers are closed.
  onTestFinished(() => rmSync(records, { recursive: true, force: true }));
  vi.stubEnv("SVC_WEBHOOK_SECRET", exampleSecret);
  vi.stubEnv("PORT", "0");
  vi.stubEnv("RECORDS_FOLDER", records);

  const delivery = await signedDelivery(exampleEvent, { secret: exampleSecret });
  const before = await start();
  const codes = await Promise.all(Array.from({ length: 20 }, () => before.send(delivery)));
  expect(codes.filter((code) => code === "processed")).toHaveLength(1);
  expect(await before.send(delivery)).toBe("duplicate");
  await before.close();

  const after = await start();
  expect(await after.send(delivery)).toBe("duplicate");
  const forged = await signedDelivery(exampleEvent, { secret: "whsec_wrong" });
  expect(await after.send(forged)).toBe("signature_mismatch");
});

test("200 copies on three Workers that share a namespace run once", async () => {
  const script = await bundled(`${folder}src/worker.ts`, "workerd");
  const records = { className: "DeliveryRecords", useSQLite: true };
  const names = ["one", "two", "three"];
  const miniflare = new Miniflare({
    host: "127.0.0.1",
    port: 0,
    cf: false,
    workers: names.map((name, index) => ({
      name,
      modules: true,
      script,
      compatibilityDate: "2025-06-01",
      bindings: { SVC_WEBHOOK_SECRET: exampleSecret },
      // The first Worker defines the objects; the others bind them.
      durableObjects: { RECORDS: index === 0 ? records : { ...records, scriptName: "one" } },
    })),
  });
  onTestFinished(() => miniflare.dispose());
  const workers = await Promise.all(names.map((name) => miniflare.getWorker(name)));
  const { headers, ...delivery } = await signedDelivery(exampleEvent, { secret: exampleSecret });
  const codes = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const init = { ...delivery, headers: { ...headers } };
      const response = await workers[index % 3]?.fetch("http://worker/webhooks", init);
      return codeOf(response);
    }),
  );
  expect(codes.filter((code) => code === "processed")).toHaveLength(1);
  const allowed = new Set(["processed", "duplicate", "in_flight"]);
  expect(codes.filter((code) => !allowed.has(String(code)))).toEqual([]);
});
