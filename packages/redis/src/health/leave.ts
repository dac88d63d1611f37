const pauseMs = 5_000;
/**
 * The `performance.now()` time at which each connection was last replaced. Kept per connection, because stores can
 * share a client.
 */
const leftAt = new WeakMap<object, number>();

/**
 * Makes a client replace a connection, at most every 5 s: otherwise, a client whose new connections do not work either
 * would keep reconnecting. Returns whether the connection was replaced.
 */
export function leave(connection: object, reconnect: () => void): boolean {
  const now = performance.now();
  if (now < (leftAt.get(connection) ?? -Infinity) + pauseMs) return false;
  leftAt.set(connection, now);
  reconnect();
  return true;
}
