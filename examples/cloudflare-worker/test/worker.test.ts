import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { signedDelivery } from "@svc-webhooks/testing";
import { Miniflare } from "miniflare";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { bundled, spawned } from "@svc-webhooks/kit/launch";
import { exampleEvent, exampleSecret } from "@svc-webhooks/kit/examples";

const folder = fileURLToPath(new URL("..", import.meta.url));

afterEach(() => vi.unstubAllEnvs());

async function statusOf(origin: string, delivery: RequestInit): Promise<unknown> {
  const response = await fetch(`${origin}/webhooks`, delivery);
  const { status, error } = (await response.json()) as {
    readonly status?: string;
    readonly error?: { readonly code: string };
  };
  return status ?? error?.code;
}

test("a processed event is a duplicate concurrently, afterwards and after a restart", async () => {
  const records = mkdtempSync(join(tmpdir(), "svc-webhooks-worker-"));
  onTestFinished(() => rmSync(records, { recursive: true, force: true }));
  vi.stubEnv("SVC_WEBHOOK_SECRET", exampleSecret);
  vi.stubEnv("PORT", "0");
  vi.stubEnv("RECORDS_FOLDER", records);
  const start = async () => {
    const served = await spawned(process.execPath, `${folder}start.js`);
    // Runs before the folder is removed.
    onTestFinished(async () => void (await served.close()));
    return served;
  };

  const delivery = await signedDelivery(exampleEvent, { secret: exampleSecret });
  const before = await start();
  const copies = await Promise.all(
    Array.from({ length: 20 }, () => statusOf(before.origin, delivery)),
  );
  expect(copies.filter((status) => status === "processed")).toHaveLength(1);
  expect(await statusOf(before.origin, delivery)).toBe("duplicate");
  await before.close();

  const after = await start();
  expect(await statusOf(after.origin, delivery)).toBe("duplicate");
  const forged = await signedDelivery(exampleEvent, { secret: "whsec_wrong" });
  expect(await statusOf(after.origin, forged)).toBe("signature_mismatch");
}, 60_000);

test("200 copies on three Workers that share a namespace run once", async () => {
  const script = await bundled(`${folder}src/worker.ts`, "workerd");
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
      durableObjects: {
        RECORDS: {
          className: "DeliveryRecords",
          useSQLite: true,
          // The first Worker defines the objects; the others bind them.
          ...(index === 0 ? {} : { scriptName: "one" }),
        },
      },
    })),
  });
  onTestFinished(() => miniflare.dispose());
  const workers = await Promise.all(names.map((name) => miniflare.getWorker(name)));
  const { headers, body } = await signedDelivery(exampleEvent, { secret: exampleSecret });
  const statuses = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const init = { method: "POST", headers: { ...headers }, body };
      const response = await workers[index % 3]?.fetch("http://worker/webhooks", init);
      return JSON.stringify(await response?.json());
    }),
  );
  expect(statuses.filter((status) => status === '{"status":"processed"}')).toHaveLength(1);
  const allowed = /^\{"status":"(processed|duplicate)"\}$|"code":"in_flight"/;
  expect(statuses.filter((status) => !allowed.test(status))).toEqual([]);
}, 60_000);
