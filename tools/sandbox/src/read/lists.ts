import type { z } from "zod";
import { slotsLeft } from "../faults.js";
import { cursorOf, listDeliveries } from "../service/deliveries.js";
import { defaultLimit, page } from "../service/pages.js";
import { domainResource, webhookEventResource } from "../service/resources.js";
import type { listQuery } from "../service/schemas.js";
import type { AccountId } from "../state/records.js";
import type { World } from "../world.js";
import { attemptSummary, checkpointShape, endpointShape, faultShape } from "./shapes.js";

/* Lists, newest first. Only the list of deliveries has pages. */

/** Returns a page of deliveries as the interface shows them, each with a summary of its attempts in `results`. */
export const deliveries = (
  world: World,
  account: AccountId | undefined,
  { webhook_endpoint_id: endpointId, after, limit = defaultLimit }: z.output<typeof listQuery>,
) =>
  page(listDeliveries(world, account, { endpointId, after }), limit, cursorOf, (delivery) => ({
    ...webhookEventResource(delivery),
    results: delivery.attempts.map(attemptSummary),
  }));

export const endpoints = ({ state }: World) =>
  Array.from(state.endpoints.all(), endpointShape).toReversed();

export const activeEndpoints = (world: World) =>
  endpoints(world).filter(({ status }) => status === "active");

export const domains = ({ state }: World) =>
  Array.from(state.domains.all(), domainResource).toReversed();

export const checkpoints = ({ state }: World) =>
  Array.from(state.checkpoints.all(), checkpointShape).toReversed();

export const faults = ({ state }: World) => Array.from(state.faults.all(), faultShape).toReversed();

/** Returns the number of faults that have unused slots and are not canceled. */
export const waitingFaults = ({ state }: World): number =>
  state.faults.list().filter((fault) => slotsLeft(fault) > 0).length;
