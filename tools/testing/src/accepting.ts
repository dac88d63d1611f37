import type { Outcome, StoredDelivery, VerifiedEvent } from "@svc-webhooks/core";

/** The part of an intake that tests use. `accept` is a method, so that it may accept any sources. */
export interface Accepts {
  readonly sources: readonly string[];
  accept(event: VerifiedEvent): Promise<Outcome>;
}

/** Returns the `receive` of a receiver that passes the event of each delivery to an intake, without verifying it. */
export const receiveBy =
  (intake: Accepts) =>
  ({ headers, body }: Pick<StoredDelivery, "headers" | "body">): Promise<Outcome> => {
    const [source = ""] = intake.sources;
    const { "x-svc-delivery-id": id = "" } = headers;
    return intake.accept({ source, id, body });
  };
