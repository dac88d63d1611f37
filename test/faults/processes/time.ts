/**
 * The factor by which the receivers' clocks are faster than real time. Hundreds of leases should expire in a chaos run,
 * and the shortest possible lease is 10 s. At this speed, it lasts 2.5 s: a busy machine takes most of a second for what
 * an idle one does in 20 ms.
 */
export const speed = 4;

/** The duration of a lease in the receivers' time, in milliseconds. */
export const leaseMs = 10_000;

/** The duration of a lease in real time, in milliseconds. */
export const realLeaseMs: number = leaseMs / speed;

/** Returns the time in milliseconds on a monotonic clock that all processes on this machine share. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6;

/**
 * Reports each time for which the event loop of this process did not run for at least `leastMs`: the machine was
 * busy, or the process frozen.
 */
export function watchStalls(
  leastMs: number,
  report: (from: number, to: number) => void,
): NodeJS.Timeout {
  let last = now();
  const look = () => {
    const [from, to] = [last, now()];
    last = to;
    if (to - from >= leastMs) report(from, to);
  };
  return setInterval(look, 20).unref();
}
