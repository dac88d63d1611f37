import { ApiError } from "../errors.js";

/**
 * Refuses a request for another host name. A page of another site whose name resolves to 127.0.0.1 (DNS
 * rebinding) sends its own name in `Host`, and no `Origin` when it reads; so every request is checked.
 *
 * @param hosts all values of the request's `Host`
 * @throws ApiError 403
 */
export function assertHost(
  hosts: readonly string[],
  port: number,
  allowHosts: readonly string[],
): void {
  const names = ["127.0.0.1", "localhost", "[::1]", ...allowHosts];
  const allowed = names.flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]);
  // An allowed name may belong to a proxy, whose port is its own.
  allowed.push(...allowHosts);
  const [host, ...others] = hosts.map((value) => value.toLowerCase());
  const isAllowed = allowed.some((name) => name.toLowerCase() === host);
  if (isAllowed && others.length === 0) return;
  throw forbidden(
    `The sandbox serves 127.0.0.1:${port} and localhost:${port}. Start it with --allow-host to add another host name.`,
    "Host",
  );
}

/**
 * Refuses a control request that another site's page sent, or that a delivery brought: a receiver at the
 * sandbox's own address would otherwise control it.
 *
 * @throws ApiError 403
 */
export function assertOwnRequest({ method, url, headers }: Request): void {
  if (headers.has("x-svc-delivery-id")) {
    throw forbidden(
      "This request is a delivery. Register your receiver's URL, not the sandbox's.",
      "X-SVC-Delivery-Id",
    );
  }
  if (method === "GET" || method === "HEAD") {
    assertOwnRead(headers);
    return;
  }
  const origin = headers.get("origin");
  if (origin !== null && origin !== new URL(url).origin) {
    throw forbidden("Only the sandbox's own page may do this.", "Origin");
  }
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") {
    throw forbidden("Only the sandbox's own page may do this.", "Sec-Fetch-Site");
  }
}

/**
 * Refuses reads by a page of another site, which may only link here: it could not see the response, but its
 * duration reveals what is stored.
 */
function assertOwnRead(headers: Headers): void {
  const site = headers.get("sec-fetch-site") ?? "none";
  const isLink =
    headers.get("sec-fetch-mode") === "navigate" && headers.get("sec-fetch-dest") === "document";
  if (site !== "same-origin" && site !== "none" && !isLink)
    throw forbidden("Only the sandbox's own page may read this.", "Sec-Fetch-Site");
}

const forbidden = (message: string, param: string) =>
  new ApiError(403, "forbidden", message, { param });
