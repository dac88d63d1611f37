import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { pathToFileURL } from "node:url";
import { memoryStore, type DeliveryStore } from "@svc-webhooks/core";
import { fakeClock } from "@svc-webhooks/testing";
import type { Express } from "express";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { send, type Reply } from "@svc-webhooks/kit/clients";
import { eventBody, secret, signed } from "@svc-webhooks/kit/deliveries";
import { gate } from "@svc-webhooks/kit/gate";
import { codeBlocks, compileBlocks } from "./readme.js";

type Handler = () => Promise<void>;

interface Page {
  readonly handWritten: (secret: string, handle: Handler) => Express;
  readonly withReceiver: (secret: string, handle: Handler, store: DeliveryStore) => Express;
}

const blocks = codeBlocks("docs/why.md");
const { modulePath } = await compileBlocks(blocks);
const modules = await Promise.all(
  blocks.map((block) => import(pathToFileURL(modulePath(block)).href) as Promise<Partial<Page>>),
);
const { handWritten, withReceiver } = Object.assign({}, ...modules) as Page;

interface Process {
  readonly send: (deliveryId?: string, key?: string) => Promise<Reply>;
  /** Ends all connections without a response. */
  readonly die: () => void;
}

const event = eventBody("email.sent", { event_id: "evt_1" });

async function serve(app: Express): Promise<Process> {
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const die = () => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(die);
  const { port } = server.address() as AddressInfo;
  return {
    send: async (deliveryId = "dlv_1", key = secret) =>
      send(port, await signed(event, { "x-svc-delivery-id": deliveryId }, key)),
    die,
  };
}

interface Row {
  /** The runs of the event that ended well. */
  readonly effects: readonly string[];
  readonly start: (name: string, handle?: Handler) => Promise<Process>;
  readonly leaseEnds: () => Promise<void>;
}

/** Starts processes of one kind. Those with a receiver share a store. */
function processes(kind: "hand-written" | "receiver"): Row {
  const effects: string[] = [];
  const clock = fakeClock();
  const store = memoryStore({ clock });
  const printed = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => printed.mockRestore());
  return {
    effects,
    start(name, handle = () => Promise.resolve()) {
      const run = async () => {
        await handle();
        effects.push(name);
      };
      return serve(
        kind === "receiver" ? withReceiver(secret, run, store) : handWritten(secret, run),
      );
    },
    leaseEnds: () => clock.advance(30_000),
  };
}

describe("a copy arrives while the handler runs, and then the process dies", () => {
  async function crash({ start }: Row) {
    const started = gate();
    const a = await start("A", () => {
      started.open();
      return new Promise(() => {});
    });
    const first = a.send().catch(() => "no response");
    await started.opened;
    const b = await start("B");
    return { a, b, first };
  }

  test("hand-written: the copy gets 200, so the event is lost", async () => {
    const row = processes("hand-written");
    const { a, first } = await crash(row);
    expect(await a.send()).toMatchObject({ status: 200 });
    a.die();
    expect(await first).toBe("no response");
    expect(row.effects).toEqual([]);
  });

  test("receiver: the copy gets 503, and a later attempt runs it in another process", async () => {
    const row = processes("receiver");
    const { a, b, first } = await crash(row);
    for (const process of [a, b]) {
      expect(await process.send()).toMatchObject({ status: 503, code: "in_flight" });
    }
    a.die();
    expect(await first).toBe("no response");
    await row.leaseEnds();
    expect(await b.send()).toMatchObject({ status: 200, code: "processed" });
    expect(row.effects).toEqual(["B"]);
  });
});

describe("the handler fails once", () => {
  async function failOnce({ start }: Row) {
    let failures = 1;
    const process = await start("A", async () => {
      if (failures-- > 0) throw new Error("the database is restarting");
    });
    return [(await process.send()).status, (await process.send()).status];
  }

  test("hand-written: the retry gets 200 without a run, so the event is lost", async () => {
    const row = processes("hand-written");
    expect(await failOnce(row)).toEqual([500, 200]);
    expect(row.effects).toEqual([]);
  });

  test("receiver: the retry runs it", async () => {
    const row = processes("receiver");
    expect(await failOnce(row)).toEqual([500, 200]);
    expect(row.effects).toEqual(["A"]);
  });
});

describe("a captured delivery is sent again under another delivery id", () => {
  async function replay({ start }: Row) {
    const process = await start("A");
    await process.send();
    return process.send("dlv_made_up");
  }

  test("hand-written: it runs twice", async () => {
    const row = processes("hand-written");
    expect(await replay(row)).toMatchObject({ status: 200 });
    expect(row.effects).toEqual(["A", "A"]);
  });

  test("receiver: it is a duplicate", async () => {
    const row = processes("receiver");
    expect(await replay(row)).toMatchObject({ status: 200, code: "duplicate" });
    expect(row.effects).toEqual(["A"]);
  });
});

describe("the retry reaches another process", () => {
  async function retryElsewhere({ start }: Row) {
    const [a, b] = [await start("A"), await start("B")];
    await a.send();
    return b.send();
  }

  test("hand-written: it runs twice", async () => {
    const row = processes("hand-written");
    expect(await retryElsewhere(row)).toMatchObject({ status: 200 });
    expect(row.effects).toEqual(["A", "B"]);
  });

  test("receiver: it is a duplicate", async () => {
    const row = processes("receiver");
    expect(await retryElsewhere(row)).toMatchObject({ status: 200, code: "duplicate" });
    expect(row.effects).toEqual(["A"]);
  });
});

test("the hand-written receiver rejects a forgery and runs a plain retry once", async () => {
  const row = processes("hand-written");
  const process = await row.start("A");
  expect(await process.send("dlv_1", "whsec_wrong")).toMatchObject({ status: 401 });
  expect(await process.send()).toMatchObject({ status: 200 });
  expect(await process.send()).toMatchObject({ status: 200 });
  expect(row.effects).toEqual(["A"]);
});
