import { parseArgs } from "node:util";
import { planFor, type Backlog, type Plan, type Rates } from "./scale/model.js";
import { markdownOf } from "./report/table.js";

const usage = `npm run bench -- scale --accept-rate <number> --run-rate <number> [options]

Computes the number of databases that an inbox on PostgreSQL needs, from rates that you have measured on one of your databases.

  --accept-rate <number>  events per second that one database accepts, if it does nothing else
  --run-rate <number>     events per second whose handlers one database runs, if it does nothing else
  --events <number>       events per day (default: 1e6, 1e7, 1e8 and 1e9)
  --utilization <number>  share of a database's time to use, from 0.1 to 1 (default: 0.6)
  --peak <number>         peak as a multiple of the average, from 1 (default: 5)
  --peak-minutes <number> length of the peak (default: 5)
  --outage-minutes <number>
                          length of an outage of all workers (default: 60)
  --job-bytes <number>    bytes of one job (default: 2300, measured with bodies of 1 kB)
  --done-hours <number>   how long a job is kept after it is done (default: 1)
  --record-bytes <number> bytes of one record (default: 154)
  --retain-days <number>  how long a record is kept (default: 7)
`;

/** The limits of each option, and its default if it has one. */
const limits = {
  "accept-rate": { min: 1, max: 1e7, initial: undefined },
  "run-rate": { min: 1, max: 1e7, initial: undefined },
  events: { min: 1, max: 1e12, initial: undefined },
  utilization: { min: 0.1, max: 1, initial: "0.6" },
  peak: { min: 1, max: 1_000, initial: "5" },
  "peak-minutes": { min: 0, max: 1e5, initial: "5" },
  "outage-minutes": { min: 0, max: 1e5, initial: "60" },
  "job-bytes": { min: 1, max: 1e9, initial: "2300" },
  "done-hours": { min: 0, max: 1e5, initial: "1" },
  "record-bytes": { min: 1, max: 1e9, initial: "154" },
  "retain-days": { min: 0, max: 1e5, initial: "7" },
} as const;

type Name = keyof typeof limits;

class UsageError extends Error {}

try {
  console.log(scaleTable(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof UsageError) && (error as { code?: string }).code === undefined)
    throw error;
  console.error(`${(error as Error).message}\n\n${usage}`);
  process.exitCode = 2;
}

function scaleTable(args: readonly string[]): string {
  const { values } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.keys(limits).map((name) => [name, { type: "string" } as const]),
    ),
  });
  const numberOf = (name: Name): number => {
    const { min, max, initial } = limits[name];
    const text = values[name] ?? initial;
    if (text === undefined) throw new UsageError(`--${name} is missing.`);
    const value = text.trim() === "" ? NaN : Number(text);
    if (value >= min && value <= max) return value;
    throw new UsageError(`--${name} must be a number from ${min} to ${max}.`);
  };
  const rates: Rates = {
    acceptRate: numberOf("accept-rate"),
    runRate: numberOf("run-rate"),
    utilization: numberOf("utilization"),
    peak: numberOf("peak"),
    peakSeconds: numberOf("peak-minutes") * 60,
    outageSeconds: numberOf("outage-minutes") * 60,
    jobBytes: numberOf("job-bytes"),
    doneSeconds: numberOf("done-hours") * 3_600,
    recordBytes: numberOf("record-bytes"),
    retainSeconds: numberOf("retain-days") * 86_400,
  };
  const days = values["events"] === undefined ? [1e6, 1e7, 1e8, 1e9] : [numberOf("events")];
  const plans = days.map((events) => [events, planFor(events, rates)] as const);
  const row = (title: string, textOf: (plan: Plan) => string) => [
    title,
    ...plans.map(([, plan]) => textOf(plan)),
  ];
  return markdownOf([
    ["events per day", ...plans.map(([events]) => whole(events))],
    ["---", ...plans.map(() => "--:")],
    row("average rate", ({ average }) => perSecond(average)),
    row("peak rate", ({ peak }) => perSecond(peak)),
    row("databases", ({ databases }) => whole(databases)),
    row("jobs waiting after the outage", ({ outage }) => whole(outage.jobs)),
    row("until none waits", ({ outage }) => duration(outage)),
    row("jobs waiting after the peak", ({ burst }) => whole(burst.jobs)),
    row("until none waits", ({ burst }) => duration(burst)),
    row("bytes of jobs", ({ jobBytes }) => bytes(jobBytes)),
    row("bytes of records", ({ recordBytes }) => bytes(recordBytes)),
  ]);
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}

function perSecond(value: number): string {
  return `${value < 100 ? Number(value.toPrecision(2)) : whole(value)}/s`;
}

function duration({ drainSeconds }: Backlog): string {
  if (drainSeconds === Infinity) return "never";
  if (drainSeconds < 120) return `${Math.ceil(drainSeconds)} s`;
  return drainSeconds < 7_200
    ? `${Math.ceil(drainSeconds / 60)} min`
    : `${(drainSeconds / 3_600).toFixed(1)} h`;
}

function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  const unit = Math.max(0, Math.min(units.length - 1, Math.floor(Math.log10(value) / 3)));
  return `${Number((value / 1_000 ** unit).toPrecision(2))} ${units[unit]}`;
}
