import { z } from "zod";
import { maybe, maybeText } from "./lenient.js";

/** The known fields of a domain. An assumption: the interface document shows no payload. */
export interface DomainData {
  readonly domain_id?: string | undefined;
  readonly domain_name?: string | undefined;
  readonly status?: string | undefined;
}

/** A sending domain has changed. */
export interface DomainUpdatedEvent {
  readonly type: "domain.updated";
  readonly data?: DomainData | undefined;
}

/** Accepts every object whose `type` is `domain.updated`. */
export const domainUpdated: z.ZodType<DomainUpdatedEvent> = z.looseObject({
  type: z.literal("domain.updated"),
  data: maybe(z.looseObject({ domain_id: maybeText, domain_name: maybeText, status: maybeText })),
});
