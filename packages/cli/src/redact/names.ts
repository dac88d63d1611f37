/** Returns a name in one spelling: `eventType`, `Event-Type` and `event_type` are the same. */
export const spelled = (name: string): string =>
  name
    .normalize("NFKC")
    .replaceAll(/([a-z\d])([A-Z])/g, "$1_$2")
    .replaceAll(/[\s-]/g, "_")
    .toLowerCase();

/** Members whose values are those of an enumeration in every sender's events: the schemes read event types from them. */
const structural: ReadonlySet<string> = new Set([
  "type",
  "object",
  "event",
  "event_type",
  "action",
]);

/** Members that have the time of an event. A time under another name may be a date of birth. */
const times: ReadonlySet<string> = new Set(
  "created created_at updated updated_at timestamp occurred_at sent_at delivered_at event_time webhook_timestamp".split(
    " ",
  ),
);

/** The most characters of a listed name. Each element of a list under a longer one would cost its length. */
const mostName = 64;

const has = (names: ReadonlySet<string>, name: string): boolean =>
  name.length <= mostName && names.has(spelled(name));

export const isStructural = (name: string): boolean => has(structural, name);

export const isTime = (name: string): boolean => has(times, name);
