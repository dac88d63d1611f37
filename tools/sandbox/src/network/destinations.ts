import { assertValid } from "@svc-webhooks/core/adapter";
import type { Ledger } from "../assumptions/ledger.js";
import { inProcess, type Handler } from "./in-process.js";
import { networkTransport, type Transport } from "./transport.js";
import { allowedAddresses, checkUrl, type Lookup } from "./url-rule.js";

interface DestinationsOptions {
  readonly ledger: Ledger;
  readonly lookup: Lookup;
  /** Returns the reason why an endpoint cannot have this URL, or undefined if A-21 decides. */
  readonly refuseUrl?: ((url: string) => string | undefined) | undefined;
}

/** Decides where deliveries go: to the URLs that A-21 allows, or to a function in this process. */
export function createDestinations({ ledger, lookup, refuseUrl }: DestinationsOptions) {
  /** The ports of the sandbox's own servers, to which nothing is delivered. */
  const ports = new Set<number>();
  const isOwn = (_address: string, port: number) => ports.has(port);
  const rule = () => ledger.get("endpoint.urls");
  const network = networkTransport({ rule, lookup, isOwn });
  let transport: Transport = network;

  const urlRefusal = async (text: string): Promise<string | undefined> => {
    const checked = checkUrl(text, rule());
    if ("refused" in checked) return checked.refused;
    const addresses = await allowedAddresses(checked.url, rule(), lookup, isOwn);
    if ("refused" in addresses) return addresses.refused;
    return "unresolved" in addresses ? addresses.unresolved : undefined;
  };

  return {
    ports,
    transport: ((request, signal) => transport(request, signal)) satisfies Transport,
    /** Passes all deliveries to a function. Undefined restores delivery over HTTP. */
    deliverTo(handler: Handler | undefined): void {
      assertValid(
        handler === undefined || typeof handler === "function",
        "handler",
        "`deliverTo` needs a function that accepts a Request and returns a Response. To deliver to a URL, register it as an endpoint.",
      );
      transport = handler ? inProcess(handler) : network;
    },
    /** Returns the reason why an endpoint cannot have this URL, or undefined if it can. */
    refuseUrl: async (text: string): Promise<string | undefined> =>
      refuseUrl?.(text) ?? (await urlRefusal(text)),
  };
}

export type Destinations = ReturnType<typeof createDestinations>;
