/** The least number of events of a chaos run, which continues until it has had its strikes. */
export const events = Number(process.env["CHAOS_EVENTS"] ?? 200);

export const seeds: readonly string[] = process.env["CHAOS_SEED"]?.split(",") ?? ["1"];

/** The numbers of a run without a mistake. */
export const eachOnce = { dead: [], lost: 0, twice: 0, left: 0 };
