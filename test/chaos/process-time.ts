/**
 * Leases last 10 s at least, and a chaos run should see hundreds of them end. So the receivers live
 * ten times as fast as the clock on the wall: the shortest lease takes 1 s.
 */
export const speed = 10;

/** As the receivers are told. */
export const leaseMs = 10_000;

/** As it takes. */
export const realLeaseMs: number = leaseMs / speed;

/** Milliseconds on a clock that never jumps and that all processes of one machine share. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6;
