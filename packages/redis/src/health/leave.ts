const pauseMs = 5_000;
/**
 * The time at which each connection was last left, from `performance.now()`. Kept per connection, because
 * stores can share a client.
 */
const leftAt = new WeakMap<object, number>();

/**
 * Makes a client leave a connection for a new one: at most every 5 s, so that a client whose new
 * connections are no better stays connected in between. Returns whether it has left.
 */
export function leave(connection: object, reconnect: () => void): boolean {
  const now = performance.now();
  if (now < (leftAt.get(connection) ?? -Infinity) + pauseMs) return false;
  leftAt.set(connection, now);
  reconnect();
  return true;
}
