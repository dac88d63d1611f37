import {
  createReceiver,
  eventType,
  type CommonOptions,
  type DeliveryContext,
  type Receiver,
} from "svc-webhooks";
import { emailEvents } from "svc-webhooks/events";
import type { PostgresStore } from "svc-webhooks/postgres";
import { recordStatus, type Queries } from "./orders.js";
import type { Point } from "./part.js";

/** `emailEvents` has no schema for this type. */
interface EmailBounced {
  readonly type: "email.bounced";
  readonly data?: { readonly email_id?: string };
}

/** Creates the receiver. `reached` lets the demo stop a handler at a point; a real receiver has no such parameter. */
export function createOrdersReceiver(
  store: PostgresStore<Queries>,
  options: CommonOptions,
  reached: (point: Point) => Promise<void> = async () => {},
): Receiver {
  return createReceiver({
    ...options,
    name: "example", // receivers with the same name and database share their records
    store,
    leaseMs: 10_000, // how long a dead process blocks its event; default 30 s
    events: { ...emailEvents, "email.bounced": eventType<EmailBounced>() },
    on: {
      "email.delivered": (event, context) => record(context, event.data?.email_id, "delivered"),
      "email.bounced": (event, context) => record(context, event.data?.email_id, "bounced"),
    },
  });

  /** Commits the app's rows and the delivery's completion together, or neither. */
  async function record(context: DeliveryContext, emailId = "", status: string): Promise<void> {
    await store.transaction(context, async (tx) => {
      await recordStatus(tx, emailId, status);
      await reached("written");
    });
    await reached("committed");
  }
}
