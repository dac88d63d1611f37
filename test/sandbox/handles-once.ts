import type { Served } from "@svc-webhooks/kit/launch";
import { expect, test } from "vitest";
import { startServers } from "./receivers.js";
import { startService } from "./service.js";

/** Tests that receivers on these platforms run each event once, whatever the service does. */
export function testHandlesOnce<Name extends string>(
  platforms: readonly Name[],
  start: (platform: Name) => Promise<Served>,
): void {
  const inboxOf = startServers(platforms, start);

  test.each(platforms)(
    "%s handles both events of an email exactly once, after its handler has failed once for each",
    async (platform) => {
      const inbox = inboxOf(platform, "envelope");
      const service = await startService(inbox.url, { "A-17": "any" });
      await inbox.configure({ secrets: [service.secret] });
      const outcomes = async () => (await inbox.notes()).outcomes;

      const sendId = await service.sendEmail();
      await service.advance(0);
      const [sent, delivered, ...others] = await service.events();
      expect([sent, delivered, others]).toMatchObject([
        { type: "email.sent", status: "pending", attempts: 1 },
        { type: "email.delivered", status: "pending", attempts: 1 },
        [],
      ]);
      expect(await outcomes()).toEqual(["handler_failed", "handler_failed"]);

      // The checks are before the first retry is due, after it, and after the whole schedule.
      await service.advance(999);
      expect(await outcomes()).toHaveLength(2);
      await service.advance(1);
      await service.advance(3_600_000);
      expect(await service.events()).toEqual([
        { ...sent, status: "succeeded", attempts: 2, next_attempt_at: null },
        { ...delivered, status: "succeeded", attempts: 2, next_attempt_at: null },
      ]);
      const send = await service.getSend(sendId);
      expect([send.status, send.history.map(({ status }) => status)]).toEqual([
        "delivered",
        ["accepted", "sent", "delivered"],
      ]);

      // The service sends both once more, although they have succeeded.
      for (const event of [sent, delivered]) {
        expect(await service.redeliver(event?.event_id ?? "")).toBe(202);
      }
      await service.advance(0);
      expect(await service.events()).toMatchObject([
        { status: "succeeded", attempts: 3 },
        { status: "succeeded", attempts: 3 },
      ]);
      const each = <Value>(value: Value) => [value, value];
      expect(await outcomes()).toEqual([
        ...each("handler_failed"),
        ...each("processed"),
        ...each("duplicate"),
      ]);
      const { runs } = await inbox.notes();
      for (const event of [sent, delivered]) {
        const own = runs.filter(({ deliveryId }) => deliveryId === event?.delivery_id);
        expect(own).toMatchObject([
          { type: event?.type, attempt: 1, run: 1, result: "failed" },
          { type: event?.type, attempt: 2, run: 2, result: "handled" },
        ]);
      }
      expect(runs).toHaveLength(4);
      expect(await inbox.claims()).toEqual(each("done"));
    },
  );

  test.each(platforms)(
    "%s handles an event once that arrives twice at the same time, or again because its response was lost",
    async (platform) => {
      const inbox = inboxOf(platform, "envelope");
      const service = await startService(inbox.url);
      await inbox.configure({ secrets: [service.secret], failures: 0, awaitsCopy: true });

      await service.addFault("duplicate", 2);
      await service.sendEmail();
      await service.advance(0);
      const succeeded = { status: "succeeded" };
      expect(await service.events()).toMatchObject([succeeded, succeeded]);
      const { outcomes: ofCopies } = await inbox.notes();
      const each = <Value>(value: Value) => [value, value];
      expect(ofCopies.toSorted()).toEqual([...each("in_flight"), ...each("processed")]);

      await inbox.change({ awaitsCopy: false });
      await service.addFault("response_lost", 2);
      await service.sendEmail();
      await service.advance(0);
      const waiting = { status: "pending", attempts: 1 };
      expect(await service.events()).toMatchObject([succeeded, succeeded, waiting, waiting]);
      await service.advance(3_600_000);
      const events = await service.events();
      expect(events).toMatchObject([succeeded, succeeded, succeeded, succeeded]);
      const { outcomes, runs } = await inbox.notes();
      expect(outcomes.slice(4)).toEqual([...each("processed"), ...each("duplicate")]);

      const handled = runs.map(({ deliveryId, run, result }) => `${deliveryId} ${run} ${result}`);
      const expected = events.map(({ delivery_id: id }) => `${id} 1 handled`);
      expect(handled.toSorted()).toEqual(expected.toSorted());
      expect(await inbox.claims()).toEqual([...each("done"), ...each("done")]);
    },
  );
}
