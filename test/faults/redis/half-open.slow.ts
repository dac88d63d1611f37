import { fakeClock } from "@svc-webhooks/testing";
import type { Redis } from "ioredis";
import { describe, expect, vi } from "vitest";
import { gate } from "@svc-webhooks/kit/gate";
import { describeWithRedis } from "@svc-webhooks/kit/redis-server";
import { call, claimBy } from "@svc-webhooks/kit/receivers";
import { until } from "@svc-webhooks/kit/until";
import { idsOf, oneRun, rig, test, ticking, unanswered, type Rig } from "./rig.js";
import { clientKinds } from "@svc-webhooks/kit/redis-clients";
import { redisStore } from "@svc-webhooks/redis";

/** Resolves when the client is ready and the proxy has accepted more than `accepted` connections. */
const reconnected = ({ client, proxy }: Rig, accepted: number) =>
  until(() => proxy.accepted() > accepted && client.isReady(), "the client has reconnected");

describeWithRedis("a connection that silently stops responding", () => {
  describe.concurrent.each(clientKinds)("of $name", (kind) => {
    test("is left after 3.5 s at most, without an option of the client", async (context) => {
      const clock = fakeClock();
      const all = await rig(context, { kind, clock, ...oneRun });
      await all.insist("first");
      const accepted = all.proxy.accepted();
      expect(all.proxy.abandon()).toBe(1);

      await unanswered(all, clock, "evt");
      await reconnected(all, accepted);
      expect(await all.deliver("other")).toMatchObject({ code: "processed" });
      await all.insist("evt");
      expect(all.runs).toEqual(["first 1", "other 1", "evt 1"]);
      all.expectNothingLost(["first", "evt", "other"]);
      expect(all.proxy.accepted()).toBe(accepted + 1);
    });

    test.for([true, false])(
      "is left while its server does not reply to the first command of the client (offline queue: %s)",
      async (offlineQueue, context) => {
        const open = (ports: readonly number[]) => kind.open(ports, { offlineQueue });
        const all = await rig(context, { kind: { ...kind, open }, faultAtStart: "hold" });
        await until(() => all.proxy.accepted() === 1, "the client connects");
        all.proxy.abandon();
        await all.proxy.set("none");
        const codes = await all.insist("evt");
        expect(codes[0]).toBe("store_unavailable");
        all.expectApplied(["evt"]);
      },
    );

    test("is left although only one completion is sent, which is then repeated", async (context) => {
      const clock = fakeClock();
      const finish = gate();
      const all = await rig(context, { kind, clock, during: () => finish.opened });
      const outcome = all.deliver("evt");
      await all.started(1);
      const accepted = all.proxy.accepted();
      all.proxy.abandon();
      const sent = all.client.calls();
      finish.open();
      await until(() => all.client.calls() > sent, "the completion is sent");
      await clock.advance(2_000);
      expect(await outcome).toMatchObject({ code: "processed", warnings: ["complete_failed"] });
      await reconnected(all, accepted);
      await until(() => all.client.pending() === 0, "it has failed, or was sent again");
      await clock.advance(500);
      await all.recorded("d", 1);
    });

    test("is left although a call that was pending at the same time got its reply", async (context) => {
      const all = await rig(context, { kind });
      await all.insist("first");
      const accepted = all.proxy.accepted();
      const store = redisStore(all.client.client);
      await all.proxy.set("hold replies");
      const replied = store.claim("1", claimBy("a"), call);
      await until(() => all.proxy.held() === 1, "the server has executed it");
      await all.proxy.set("hold");
      const lost = Promise.resolve(store.claim("2", claimBy("a"), call)).catch(() => {});
      await until(() => all.proxy.held() === 2, "the second call is sent");
      await all.proxy.set("none");
      all.proxy.abandon();
      expect(await replied).toMatchObject({ status: "claimed" });
      expect(all.client.pending()).toBe(1);
      await reconnected(all, accepted);
      await lost;
    });

    test("had executed a claim: the claim is never reported as not sent", async (context) => {
      const all = await rig(context, { kind });
      await all.insist("first");
      await all.proxy.set("hold replies");
      const store = redisStore(all.client.client);
      const settle = async (key: string) => {
        try {
          return (await store.claim(key, claimBy("a"), call)).status;
        } catch (error) {
          return (error as { code?: unknown }).code ?? "unknown";
        }
      };
      const claim = settle("1");
      const executed = async () => (await all.admin.exists("svc-webhooks:1")) === 1;
      await until(executed, "the server has executed it");
      all.proxy.abandon();
      await all.proxy.set("none");
      const later = settle("2");
      expect([await claim, await later]).toEqual(
        kind.resends ? ["claimed", "claimed"] : ["unknown", "unknown"],
      );
    });
  });

  // The suites run one after another, because the timers of the watch and of the pause after it are mocked.
  describe.each(clientKinds)("of $name", (kind) => {
    test("is kept if a reply arrives before it was silent for 1.5 s twice", async (context) => {
      ticking(context);
      const all = await rig(context, { kind });
      await all.insist("first");
      const accepted = all.proxy.accepted();
      for (const id of idsOf(5)) {
        await all.proxy.set("hold");
        const sent = all.client.calls();
        const outcome = all.deliver(id);
        await until(() => all.client.calls() > sent, "the claim is sent");
        vi.advanceTimersByTime(3_000);
        await all.proxy.set("none");
        expect(await outcome).toMatchObject({ code: "processed" });
      }
      expect(all.proxy.accepted()).toBe(accepted);
    });

    test("is left at most once in 5 s", async (context) => {
      ticking(context);
      const clock = fakeClock();
      const all = await rig(context, { kind, clock });
      const accepted = all.proxy.accepted();
      all.proxy.abandon();
      await unanswered(all, clock, "evt");
      vi.advanceTimersByTime(3_500);
      await reconnected(all, accepted);

      all.proxy.abandon();
      const now = performance.now();
      const time = vi.spyOn(performance, "now").mockImplementation(() => now);
      context.onTestFinished(() => time.mockRestore());
      for (const id of idsOf(5)) {
        await unanswered(all, clock, id);
        vi.advanceTimersByTime(3_500);
      }
      expect(all.client.isReady()).toBe(true);
      time.mockImplementation(() => now + 5_000);
      vi.advanceTimersByTime(250);
      time.mockRestore();
      await reconnected(all, accepted + 1);
      expect(all.proxy.accepted()).toBe(accepted + 2);
    });
  });

  describe.each(clientKinds)("of $name, which the application uses too,", (kind) => {
    test("is left with the application's commands: subscriptions continue, and pending commands end as after any broken connection", async (context) => {
      const clock = fakeClock();
      const all = await rig(context, { kind, clock });
      const client = all.client.client as unknown as Pick<Redis, "get"> & {
        subscribe?: (channel: string, listener: (message: string) => void) => Promise<unknown>;
      };
      const messages: string[] = [];
      // ioredis rejects other commands on a connection with subscriptions.
      const subscribes = !kind.resends;
      if (subscribes) await client.subscribe?.("news", (message) => messages.push(message));
      await all.admin.set("app", "value");
      const accepted = all.proxy.accepted();
      all.proxy.abandon();
      const pending = client.get("app").catch((error: Error) => error.message);
      await unanswered(all, clock, "evt");
      await reconnected(all, accepted);
      expect(await pending).toBe(kind.resends ? "value" : "Disconnects client");
      expect(await client.get("app")).toBe("value");
      if (!subscribes) return;
      await until(async () => (await all.admin.publish("news", "1")) === 1, "it is subscribed");
      await until(() => messages.length > 0, "a message arrives");
    });
  });
});
