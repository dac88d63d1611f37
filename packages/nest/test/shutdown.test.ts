import { Injectable, Module, type LoggerService, type OnModuleDestroy } from "@nestjs/common";
import { gate } from "@svc-webhooks/kit/gate";
import { OnWebhook, WebhooksModule } from "@svc-webhooks/nest";
import { describe, expect, test } from "vitest";
import { create, listen, options, platforms, send } from "./nest-app.js";

let calls: string[] = [];

@Injectable()
class Store implements OnModuleDestroy {
  onModuleDestroy() {
    calls.push("store closed");
  }
}

@Module({ providers: [Store], exports: [Store] })
class StoreModule {}

const webhooks = (settings: object) =>
  WebhooksModule.forRootAsync({
    name: "slow",
    imports: [StoreModule],
    inject: [Store],
    useFactory: () => ({ ...options, handlerTimeoutMs: 1, ...settings }),
  });

describe.each(platforms)("on $platform", ({ adapter }) => {
  test.each([
    ["before", [StoreModule]],
    ["after", []],
  ])(
    "close() waits for pending deliveries and then destroys a store imported %s the receiver",
    async (_title, earlier) => {
      calls = [];
      const started = gate();
      const finished = gate();
      @Injectable()
      class Slow {
        @OnWebhook("slow", { receiver: "slow" })
        async slow() {
          started.open();
          await finished.opened;
          calls.push("handled");
        }
      }
      const imports = [...earlier, webhooks({}), StoreModule];
      const app = await create({ imports, providers: [Slow] }, adapter());
      const origin = await listen(app);
      const response = send(`${origin}/webhooks`, "slow");
      await started.opened;
      const closing = app.close();
      expect(await response).toBe("handler_timeout");
      // New deliveries are refused as long as the app waits.
      expect(await send(`${origin}/webhooks`, "slow")).toBe("draining");
      expect(calls).toEqual([]);
      finished.open();
      await closing;
      expect(calls).toEqual(["handled", "store closed"]);
    },
  );

  test("deliveries are refused until the server is closed, so no handler runs with a destroyed store", async () => {
    calls = [];
    let origin = "";
    @Injectable()
    class Late {
      @OnWebhook("late", { receiver: "slow" })
      late() {
        calls.push("handled");
      }
      // The server still listens.
      async beforeApplicationShutdown() {
        calls.push(String(await send(`${origin}/webhooks`, "late")));
      }
    }
    const app = await create({ imports: [webhooks({})], providers: [Late] }, adapter());
    origin = await listen(app);
    await app.close();
    expect(calls).toEqual(["store closed", "draining"]);
  });

  test("close() waits at most for drainMs, and logs how many deliveries are pending", async () => {
    calls = [];
    const started = gate();
    const lines: unknown[][] = [];
    const note = (...line: readonly unknown[]) => void lines.push([...line]);
    const logger: LoggerService = { log() {}, warn: note, error: note };
    @Injectable()
    class Stuck {
      @OnWebhook("stuck", { receiver: "slow" })
      async stuck() {
        started.open();
        await gate().opened;
      }
    }
    const imports = [webhooks({ drainMs: 0 })];
    const app = await create({ imports, providers: [Stuck] }, adapter(), { logger });
    const origin = await listen(app);
    expect(await send(`${origin}/webhooks`, "stuck")).toBe("handler_timeout");
    await app.close();
    expect(calls).toEqual(["store closed"]);
    const text = "Closing with 1 pending deliveries, after 0 ms (drainMs).";
    expect(lines.at(-1)).toEqual([text, "Webhooks slow"]);
  });

  test("lines go to Nest's logger with the receiver's name as context, unless logger is set", async () => {
    const lines: unknown[][] = [];
    const note =
      (level: string) =>
      (...line: readonly unknown[]) =>
        void lines.push([level, ...line]);
    const logger: LoggerService = { log() {}, warn: note("warn"), error: note("error") };
    @Injectable()
    class Fails {
      @OnWebhook("fails", { receiver: "slow" })
      @OnWebhook("fails")
      @OnWebhook("fails", { receiver: "unset" })
      fails() {
        throw new Error("no");
      }
    }
    const own: string[] = [];
    const add = (text: string) => own.push(text);
    const imports = [
      webhooks({ path: "/slow" }),
      WebhooksModule.forRoot({ ...options, name: "unset", path: "/unset", logger: undefined }),
      WebhooksModule.forRoot({ ...options, logger: { info: add, warn: add, error: add } }),
    ];
    const app = await create({ imports, providers: [Fails] }, adapter(), { logger });
    const origin = await listen(app);
    expect(await send(`${origin}/slow`, "fails")).toBe("handler_failed");
    expect(await send(`${origin}/webhooks`, "fails")).toBe("handler_failed");
    expect(await send(`${origin}/unset`, "fails")).toBe("handler_failed");
    expect(lines).toEqual([
      ["error", expect.stringContaining("Error: no"), undefined, "Webhooks slow"],
      ["error", expect.stringContaining("Error: no"), undefined, "Webhooks unset"],
    ]);
    expect(own).toEqual([expect.stringContaining("Error: no")]);
  });
});
