import { expect, test } from "vitest";
import { start, startServers, type Platform } from "./receivers.js";
import { startService } from "./service.js";

const platforms = ["Express 4", "Express 5"] as const satisfies readonly Platform[];
const inboxOf = startServers(platforms, start);

test.each(platforms)(
  "%s handles a redelivery of an event whose attempts have all failed",
  async (platform) => {
    const inbox = inboxOf(platform, "envelope");
    const service = await startService(inbox.url, { "A-09": "50ms,50ms" });
    await inbox.configure({ secrets: [service.secret], failures: 3 });

    await service.sendEmail();
    await service.advance(0);
    const [event] = await service.events();
    const eventId = event?.event_id ?? "";
    await service.advance(100);
    expect(await service.events()).toMatchObject([
      { status: "failed", attempts: 3 },
      { status: "failed", attempts: 3 },
    ]);

    expect(await service.redeliver(eventId)).toBe(202);
    await service.advance(0);
    expect(await service.events()).toMatchObject([
      { event_id: eventId, status: "succeeded", attempts: 4 },
      { status: "failed", attempts: 3 },
    ]);
    const { runs } = await inbox.notes();
    const own = runs.filter(({ deliveryId }) => deliveryId === event?.delivery_id);
    expect(own.map(({ attempt, run, result }) => [attempt, run, result])).toEqual([
      [1, 1, "failed"],
      [2, 2, "failed"],
      [3, 3, "failed"],
      [4, 4, "handled"],
    ]);

    // Only failed deliveries can be redelivered.
    expect(await service.redeliver(eventId)).toBe(409);
    await service.advance(3_600_000);
    expect((await inbox.notes()).runs).toHaveLength(7);
  },
);

/**
 * The secrets of an attempt before the rotation, of its retry 1 s later, and of an event after 1 min.
 */
const rotations = [
  ["immediate", "old", "new", "new"],
  ["pinned", "old", "old", "new"],
  ["deferred:60s", "old", "old", "new"],
  ["deferred:1s", "old", "new", "new"],
] as const;

test.each(
  platforms.flatMap((platform) => rotations.map((rotation) => [platform, ...rotation] as const)),
)(
  "%s with both secrets accepts every attempt around a rotation that is %s",
  async (platform, rule, before, retry, later) => {
    const inbox = inboxOf(platform, "envelope");
    const service = await startService(inbox.url, { "A-19": rule });
    const old = { id: "old", key: service.secret };
    await inbox.configure({ secrets: [old] });

    await service.sendEmail();
    await service.advance(0);
    const key = await service.rotateSecret();
    await inbox.change({ secrets: [old, { id: "new", key }] });
    await service.advance(60_000);
    await service.sendEmail();
    await service.advance(0);
    await service.advance(1_000);

    const events = await service.events();
    const succeeded = { status: "succeeded", attempts: 2 };
    expect(events).toMatchObject([succeeded, succeeded, succeeded, succeeded]);
    const { runs } = await inbox.notes();
    const expected = [
      [before, retry],
      [before, retry],
      [later, later],
      [later, later],
    ];
    const used = events.map(({ delivery_id: id }) =>
      runs.filter(({ deliveryId }) => deliveryId === id).map(({ secretId }) => secretId),
    );
    expect(used).toEqual(expected);
  },
);

test.each(platforms)(
  "%s handles what it has refused between a rotation and its new list of secrets",
  async (platform) => {
    const inbox = inboxOf(platform, "envelope");
    const service = await startService(inbox.url);
    const old = { id: "old", key: service.secret };
    await inbox.configure({ secrets: [old], failures: 0 });

    const key = await service.rotateSecret();
    await service.sendEmail();
    await service.advance(0);
    expect(await service.events()).toMatchObject([
      { status: "pending", attempts: 1 },
      { status: "pending", attempts: 1 },
    ]);
    await inbox.change({ secrets: [old, { id: "new", key }] });
    await service.advance(1_000);
    expect(await service.events()).toMatchObject([
      { status: "succeeded", attempts: 2 },
      { status: "succeeded", attempts: 2 },
    ]);
    const { outcomes, runs } = await inbox.notes();
    expect(outcomes).toEqual([
      "signature_mismatch",
      "signature_mismatch",
      "processed",
      "processed",
    ]);
    expect(runs).toMatchObject([
      { attempt: 2, run: 1, secretId: "new", result: "handled" },
      { attempt: 2, run: 1, secretId: "new", result: "handled" },
    ]);
  },
);
