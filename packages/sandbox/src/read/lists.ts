import { slotsLeft } from "../faults.js";
import { domainResource } from "../service/resources.js";
import type { World } from "../world.js";
import { endpointShape, faultShape } from "./shapes.js";

/* Whole lists, newest first. */

export const endpoints = ({ state }: World) =>
  Array.from(state.endpoints.all(), endpointShape).toReversed();

export const activeEndpoints = (world: World) =>
  endpoints(world).filter(({ status }) => status === "active");

export const domains = ({ state }: World) =>
  Array.from(state.domains.all(), domainResource).toReversed();

export const faults = ({ state }: World) => Array.from(state.faults.all(), faultShape).toReversed();

/** Returns the number of faults that have uses left. */
export const waitingFaults = ({ state }: World): number =>
  state.faults.list().filter((fault) => slotsLeft(fault) > 0).length;
