import { entry } from "./timeline.js";

/** The fields of responses that the demo reads. */
export interface Fields {
  readonly domain_id: string;
  readonly secret: string;
  readonly status: string;
  readonly webhook_endpoint: { readonly webhook_endpoint_id: string };
  readonly data: readonly {
    readonly event_id: string;
    readonly delivery_id: string;
    readonly status: string;
  }[];
}

/** The service's REST interface, by plain `fetch`. */
export interface Service {
  /** Sends a request, and prints it unless it is quiet. Throws for a status of 400 or more. */
  readonly call: (method: string, path: string, body?: object, quiet?: boolean) => Promise<Fields>;
}

export function connect(baseUrl: string): Service {
  return {
    async call(method, path, body, quiet = false) {
      const response = await fetch(baseUrl + path, {
        method,
        headers: {
          authorization: "Bearer svc_demo",
          "content-type": "application/json",
          "idempotency-key": crypto.randomUUID(),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!quiet) entry("→", `${method} ${short(path)}`, response.status);
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return JSON.parse(text) as Fields;
    },
  };
}

/** A path with shortened ids. */
const short = (path: string) => path.replaceAll(/_(\w{4})\w{10,}/g, "_$1…").replace(/\?.*/, "");
