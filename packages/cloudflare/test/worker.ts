import { DeliveryRecords, durableObjectStore } from "@svc-webhooks/cloudflare";
import type { DeliveryStore } from "@svc-webhooks/core";
import type { Command } from "./command.js";

/** The class under test, with a clock that the test moves and that survives an eviction. */
export class Records extends DeliveryRecords {
  constructor(context: DurableObjectState, env: Cloudflare.Env) {
    super(context, env);
    context.storage.sql.exec("CREATE TABLE IF NOT EXISTS clock (ms INTEGER NOT NULL)");
  }

  override now(): number {
    const [clock] = this.ctx.storage.sql.exec<{ ms: number }>("SELECT ms FROM clock").toArray();
    return clock?.ms ?? 1_700_000_000_000;
  }

  advance(ms: number): void {
    const now = this.now();
    this.ctx.storage.sql.exec("DELETE FROM clock");
    this.ctx.storage.sql.exec("INSERT INTO clock VALUES (?)", now + ms);
  }

  evict(): void {
    this.ctx.abort("evicted by the test");
  }

  /** Runs the alarm as the platform does. Resolves to whether one was set. */
  async fireAlarm(): Promise<boolean> {
    const wasSet = (await this.ctx.storage.getAlarm()) !== null;
    await this.alarm();
    return wasSet;
  }

  clear(): void {
    this.ctx.storage.sql.exec("DELETE FROM records");
  }

  count(): number {
    return this.ctx.storage.sql.exec("SELECT key FROM records").toArray().length;
  }
}

type Stub = DurableObjectStub<Records>;

interface Bindings {
  readonly RECORDS: DurableObjectNamespace<Records>;
}

export default {
  async fetch(request: Request, { RECORDS }: Bindings): Promise<Response> {
    const { shards, call, given } = await request.json<Command>();
    const objects = Array.from({ length: shards }, (_, index) =>
      RECORDS.get(RECORDS.idFromName(`shard ${index}`)),
    );
    const toAll: Readonly<Record<string, (object: Stub) => unknown>> = {
      advance: (object) => object.advance(Number(given[0])),
      // The call rejects because the object is aborted.
      evict: (object) => object.evict().catch(() => {}),
      alarm: (object) => object.fireAlarm(),
      clear: (object) => object.clear(),
      count: (object) => object.count(),
    };
    try {
      const one = toAll[call];
      if (one) return Response.json(await Promise.all(objects.map(async (object) => one(object))));
      const store = durableObjectStore(RECORDS, { shards });
      // The test passes the arguments that the method accepts.
      const method = store[call as keyof DeliveryStore] as (...all: readonly unknown[]) => unknown;
      return Response.json((await method(...given)) ?? null);
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  },
};
