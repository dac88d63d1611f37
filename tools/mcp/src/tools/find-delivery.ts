import type { Followed } from "@svc-webhooks/cli/workbench";

/** The maximum number of deliveries that are examined. */
const mostExamined = 100;

interface Wanted {
  readonly event_id?: string | undefined;
  readonly type?: string | undefined;
}

/**
 * Resolves to the newest delivery with this event id and type, or to undefined if none of the newest 100 matches. An
 * undefined id or type matches all.
 */
export async function findDelivery(
  newest: AsyncIterable<Followed>,
  { event_id, type }: Wanted,
): Promise<Followed | undefined> {
  let examined = 0;
  for await (const delivery of newest) {
    const isWanted = event_id === undefined || delivery.event_id === event_id;
    if (isWanted && (type === undefined || delivery.type === type)) return delivery;
    examined += 1;
    if (examined >= mostExamined) break;
  }
  return undefined;
}
