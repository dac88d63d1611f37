/** The rates and sizes of an inbox whose queue and effects share one database. */
export interface Rates {
  /** The number of events per second that one database accepts, if it does nothing else. */
  readonly acceptRate: number;
  /** The number of events per second whose handlers one database runs, if it does nothing else. */
  readonly runRate: number;
  /** The share of each database's time that the plan uses, from 0 to 1. The rest is a reserve. */
  readonly utilization: number;
  /** The peak as a multiple of the average rate. */
  readonly peak: number;
  /** The length of the peak, in seconds. */
  readonly peakSeconds: number;
  /** The length of an outage of all workers, in seconds. Deliveries are accepted meanwhile. */
  readonly outageSeconds: number;
  /** The bytes of one job. */
  readonly jobBytes: number;
  /** How long a job is kept after it is done, in seconds. */
  readonly doneSeconds: number;
  /** The bytes of one record of the inbox's store. */
  readonly recordBytes: number;
  /** How long a record is kept, in seconds. */
  readonly retainSeconds: number;
}

/** The requirements of a number of events per day. Rates are per second, times in seconds. */
export interface Plan {
  readonly average: number;
  readonly peak: number;
  readonly databases: number;
  /** The jobs that wait at the end of an outage, and the time until none waits. */
  readonly outage: Backlog;
  /** The jobs that wait at the end of a peak, and the time until none waits. */
  readonly burst: Backlog;
  /** The bytes of the jobs: those that are done, and those that wait at the end of an outage. */
  readonly jobBytes: number;
  readonly recordBytes: number;
}

export interface Backlog {
  readonly jobs: number;
  /** The time until no job waits, in seconds. Infinity if no capacity is left for the backlog. */
  readonly drainSeconds: number;
}

const secondsPerDay = 86_400;

/** The relative rounding error up to which rates count as equal: sums such as `0.1 + 0.2` are not exact. */
const rounding = 1e-9;

/**
 * Returns the requirements of a number of events per day.
 *
 * An event takes `1 / acceptRate` seconds of a database's time when it is accepted, and `1 / runRate` seconds when its
 * handler runs. The databases must be able to accept the peak while they run the handlers of the average rate; the
 * remaining handlers run after the peak. Acceptance has priority: handlers get the rest of the time that the plan uses.
 */
export function planFor(eventsPerDay: number, rates: Rates): Plan {
  const { acceptRate, runRate, utilization } = rates;
  const average = eventsPerDay / secondsPerDay;
  const peak = average * rates.peak;
  const needed = (peak / acceptRate + average / runRate) / utilization;
  const databases = Math.max(1, Math.ceil(needed * (1 - rounding)));
  /** Returns the number of handlers per second that finish while `arriving` events per second are accepted. */
  const runsBeside = (arriving: number) =>
    Math.max(0, databases * utilization - arriving / acceptRate) * runRate;
  /** Returns the difference by which `rate` exceeds `other`, or 0 if it is only a rounding error. */
  const excess = (rate: number, other: number) =>
    rate - other > rate * rounding ? rate - other : 0;
  const spare = excess(runsBeside(average), average);
  const drained = (jobs: number): Backlog => ({
    jobs,
    drainSeconds: jobs === 0 ? 0 : jobs / spare,
  });
  const outage = drained(average * rates.outageSeconds);
  return {
    average,
    peak,
    databases,
    outage,
    burst: drained(excess(peak, runsBeside(peak)) * rates.peakSeconds),
    jobBytes: (average * rates.doneSeconds + outage.jobs) * rates.jobBytes,
    recordBytes: average * rates.retainSeconds * rates.recordBytes,
  };
}
