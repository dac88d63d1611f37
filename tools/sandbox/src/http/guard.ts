import { ApiError } from "../errors.js";

/**
 * Checks that a request names exactly one host: a loopback name with the server's port, or an allowed name. This
 * prevents DNS rebinding, in which the name of another site resolves to 127.0.0.1, so that its pages can read from the
 * server. Such reads have no `Origin` header, but they have the site's name in `Host`.
 *
 * @param hosts all hosts that the request names
 * @throws ApiError 403
 */
export function assertHost(
  hosts: readonly string[],
  port: number,
  allowHosts: readonly string[],
): void {
  const own = ["127.0.0.1", "localhost", "[::1]"].flatMap((name) => [
    `${name}:${port}`,
    ...(port === 80 ? [name] : []),
  ]);
  const [host = "", ...others] = hosts.map((value) => value.toLowerCase());
  // An allowed name without a port matches any port, because a proxy or a container may use another one.
  const bare = host.replace(/:\d{1,5}$/, "");
  const isAllowed =
    own.includes(host) ||
    allowHosts.map((name) => name.toLowerCase()).some((name) => name === host || name === bare);
  if (isAllowed && others.length === 0) return;
  throw forbidden(
    `The sandbox does not accept this host name. Use localhost:${port}, or start the sandbox with --allow-host, or with \`allowHosts\` in code.`,
    "Host",
  );
}

/**
 * Rejects requests from pages of other origins, except when the user follows a link. Also rejects deliveries: an
 * endpoint with the sandbox's own address would otherwise let deliveries trigger actions. It is not called for requests
 * to the interface.
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
    throw forbidden("Pages from other sites must not send this request.", "Origin");
  }
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin") {
    throw forbidden("Pages from other sites must not send this request.", "Sec-Fetch-Site");
  }
}

/**
 * Rejects reads by pages of other origins, except when the user follows a link. Such a page cannot see the response,
 * but could infer from the response's timing which data is stored.
 */
function assertOwnRead(headers: Headers): void {
  const site = headers.get("sec-fetch-site") ?? "none";
  const isLink =
    headers.get("sec-fetch-mode") === "navigate" && headers.get("sec-fetch-dest") === "document";
  if (site !== "same-origin" && site !== "none" && !isLink)
    throw forbidden("Pages from other sites are not allowed to read this.", "Sec-Fetch-Site");
}

const forbidden = (message: string, param: string) =>
  new ApiError(403, "forbidden", message, { param });
