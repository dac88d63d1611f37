/**
 * The factor by which the receivers' clocks are faster than real time. Leases last at least 10 s, and hundreds
 * of them should end in a chaos run, so the shortest lease takes 1 s.
 */
export const speed = 10;

/** The lease in the receivers' time. */
export const leaseMs = 10_000;

/** The lease in real time. */
export const realLeaseMs: number = leaseMs / speed;

/** Returns milliseconds on a monotonic clock that all processes of one machine share. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6;
