import { pathToFileURL } from "node:url";
import type { Receiver } from "@svc-webhooks/core";
import { expect, onTestFinished, test, vi } from "vitest";
import { eventBody, signed } from "@svc-webhooks/kit/deliveries";
import { codeBlocks, compileBlocks } from "./readme.js";

interface ParkedTable {
  readonly upsert: (id: string, delivery: string) => Promise<void>;
  readonly all: () => Promise<readonly { readonly id: string; readonly delivery: unknown }[]>;
  readonly delete: (id: string) => Promise<void>;
}

interface Recipe {
  readonly receiverOn: (table: ParkedTable) => Receiver;
  readonly runParkedAgain: (receiver: Receiver, table: ParkedTable) => Promise<void>;
}

const block = codeBlocks("packages/core/README.md").find(({ code }) =>
  code.includes("runParkedAgain"),
);
if (!block) throw new Error("The core's README must contain the recipe `runParkedAgain`.");
const { modulePath } = await compileBlocks([block]);
const { receiverOn, runParkedAgain } = (await import(
  pathToFileURL(modulePath(block)).href
)) as Recipe;

const key = "whsec_parked";
const deleted = eventBody("email.sent", { account: "deleted" });

/** Runs the recipe on a database that stores JSON columns as objects, and fails the operations in `failing`. */
function recipe() {
  const printed = vi.spyOn(console, "error").mockReturnValue();
  const logged = vi.spyOn(console, "log").mockReturnValue();
  vi.stubEnv("SVC_WEBHOOK_SECRET", key);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    printed.mockRestore();
    logged.mockRestore();
  });
  const rows = new Map<string, unknown>();
  const failing = new Set<keyof ParkedTable>();
  const query = <Result>(name: keyof ParkedTable, run: () => Result) =>
    failing.has(name) ? Promise.reject(new Error("connection lost")) : Promise.resolve(run());
  const table: ParkedTable = {
    upsert: (id, delivery) => query("upsert", () => void rows.set(id, JSON.parse(delivery))),
    all: () => query("all", () => Array.from(rows, ([id, delivery]) => ({ id, delivery }))),
    delete: (id) => query("delete", () => void rows.delete(id)),
  };
  const receiver = receiverOn(table);
  return {
    rows,
    failing,
    deliver: async () => (await receiver.receive(await signed(deleted, {}, key))).code,
    runAgain: () => runParkedAgain(receiver, table),
    codes: () => logged.mock.calls.map(([, code]) => code),
  };
}

test("an event that is parked again keeps its single row, and its record stays parked", async () => {
  const { rows, deliver, runAgain, codes } = recipe();
  expect(await deliver()).toBe("parked");
  await runAgain();
  expect(codes()).toEqual(["parked"]);
  expect(rows.size).toBe(1);
  expect(await deliver()).toBe("parked");
});

test("an event is not acknowledged while the database cannot store it", async () => {
  const { rows, failing, deliver } = recipe();
  failing.add("upsert");
  expect(await deliver()).toBe("handler_failed");
  expect(rows.size).toBe(0);
  failing.clear();
  expect(await deliver()).toBe("parked");
  expect(rows.size).toBe(1);
});

test("a row whose deletion failed is removed by the next attempt, without running the event twice", async () => {
  const { rows, failing, deliver, runAgain, codes } = recipe();
  await deliver();
  repair(rows);
  failing.add("delete");
  await expect(runAgain()).rejects.toThrow("connection lost");
  expect(rows.size).toBe(1);
  failing.clear();
  await runAgain();
  expect(codes()).toEqual(["processed", "duplicate"]);
  expect(rows.size).toBe(0);
});

test("a row is kept if the database fails while the event runs again", async () => {
  const { rows, failing, deliver, runAgain, codes } = recipe();
  await deliver();
  // Parking the event a second time fails, so it counts as failed and its row remains.
  failing.add("upsert");
  await runAgain();
  expect(codes()).toEqual(["handler_failed"]);
  expect(rows.size).toBe(1);
  failing.clear();
  await runAgain();
  expect(codes()).toEqual(["handler_failed", "parked"]);
});

/** Replaces the stored bodies with ones that succeed, as if the account existed again. */
function repair(rows: Map<string, unknown>) {
  for (const [id, row] of rows) {
    const body = Buffer.from(eventBody("email.sent")).toString("base64");
    rows.set(id, { ...(row as object), body });
  }
}
