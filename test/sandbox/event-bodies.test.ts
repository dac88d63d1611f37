import type { EventFacts } from "@svc-webhooks/sandbox";
import { describe, expect, test } from "vitest";
import type { BodyName } from "./inboxes.js";
import { start, startServers } from "./receivers.js";
import { startService } from "./service.js";

const platforms = ["Express 5", "Hono on Node", "Hono on workerd"] as const;
const inboxOf = startServers(platforms, start);

/** Returns a CloudEvent. Only a sandbox in the same process accepts a function. */
const cloudEvent = ({ event_id, type, created_at, data }: EventFacts) => ({
  specversion: "1.0",
  id: event_id,
  source: "https://mail.example.test",
  type: `test.example.${type}`,
  time: created_at,
  data,
});

/** The value of A-07 and the fields of its body. The receiver's options for it are in `inboxes.ts`. */
const bodies: readonly (readonly [BodyName, unknown, readonly string[]])[] = [
  ["envelope", "envelope", ["event_id", "type", "created_at", "data"]],
  ["short", "short", ["id", "type", "timestamp", "data"]],
  [
    "bare",
    "bare",
    [
      "email_id",
      "message_id",
      "send_id",
      "status",
      "subject",
      "from",
      "recipients",
      "message_class",
      "created_at",
    ],
  ],
  ["custom", cloudEvent, ["specversion", "id", "source", "type", "time", "data"]],
];

/** The forms of a body, with whether it survives parsing and serializing. */
const forms = [
  ["spaced", false],
  ["compact", true],
] as const;

describe.each(platforms)("%s", (platform) => {
  describe.each(forms)("receives %s JSON", (bytes, isStable) => {
    test.each(bodies)("with the body %s, and handles it once", async (body, value, fields) => {
      const inbox = inboxOf(platform, body);
      const service = await startService(inbox.url, { "A-07": value, "A-25": bytes });
      await inbox.configure({ secrets: [service.secret] });

      const sendId = await service.sendEmail();
      await service.advance(0);
      await service.advance(3_600_000);
      const events = await service.events();
      expect(events).toMatchObject([
        { type: "email.sent", status: "succeeded", attempts: 2 },
        { type: "email.delivered", status: "succeeded", attempts: 2 },
      ]);

      const { runs } = await inbox.notes();
      expect(runs).toHaveLength(4);
      for (const { type, delivery_id: deliveryId, event_id } of events) {
        const own = runs.filter((run) => run.deliveryId === deliveryId);
        const eventId = body === "bare" ? `${sendId} ${type.slice(6)}` : event_id;
        const eventIdSigned = body === "bare" || body === "custom";
        expect(own).toMatchObject([
          { type, eventId, eventIdSigned, run: 1, result: "failed" },
          { type, eventId, eventIdSigned, run: 2, result: "handled" },
        ]);
        const [first = "", ...others] = own.map(({ text }) => text);
        expect(others).toEqual([first]);
        const parsed: unknown = JSON.parse(first);
        expect(Object.keys(parsed as object)).toEqual(fields);
        expect(JSON.stringify(parsed) === first).toBe(isStable);
      }
      expect(await inbox.claims()).toEqual(["done", "done"]);
    });
  });
});
