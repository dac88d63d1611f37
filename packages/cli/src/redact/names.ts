/** Returns a name in a uniform spelling, which is the same for `eventType`, `Event-Type` and `event_type`. */
export const spelled = (name: string): string =>
  name
    .normalize("NFKC")
    .replaceAll(/([a-z\d])([A-Z])/g, "$1_$2")
    .replaceAll(/[\s-]/g, "_")
    .toLowerCase();

/** Members whose values are an enumeration for every sender, because the schemes read event types from them. */
const structural: ReadonlySet<string> = new Set([
  "type",
  "object",
  "event",
  "event_type",
  "action",
]);

/** Members that contain the time of an event. A time under any other name may be personal, such as a date of birth. */
const times: ReadonlySet<string> = new Set(
  "created created_at updated updated_at timestamp occurred_at sent_at delivered_at event_time webhook_timestamp".split(
    " ",
  ),
);

/** The most characters of a listed name. Longer names are not compared, because that would be slow in long lists. */
const mostName = 64;

const has = (names: ReadonlySet<string>, name: string): boolean =>
  name.length <= mostName && names.has(spelled(name));

export const isStructural = (name: string): boolean => has(structural, name);

export const isTime = (name: string): boolean => has(times, name);
