import { z } from "zod/v4";
import { maybe, maybeText } from "./lenient.js";

/** The fields of a domain. They are an assumption: the interface document shows no payload. */
export interface DomainData {
  readonly domain_id?: string | undefined;
  readonly domain_name?: string | undefined;
  readonly status?: string | undefined;
}

/** Signals that a sending domain has changed. */
export interface DomainUpdatedEvent {
  readonly type: "domain.updated";
  readonly data?: DomainData | undefined;
}

/** Accepts every object whose `type` is `domain.updated`. */
export const domainUpdated: z.ZodType<DomainUpdatedEvent> = z.looseObject({
  type: z.literal("domain.updated"),
  data: maybe(z.looseObject({ domain_id: maybeText, domain_name: maybeText, status: maybeText })),
});
