/** Returns a name in a uniform spelling, which is the same for `eventType`, `Event-Type` and `event_type`. */
export const spelled = (name: string): string =>
  name
    .normalize("NFKC")
    .replaceAll(/([a-z\d])([A-Z])/g, "$1_$2")
    .replaceAll(/[\s-]/g, "_")
    .toLowerCase();

/** Names of members whose values come from a fixed set, because senders put the types of events and objects there. */
const structural: ReadonlySet<string> = new Set([
  "type",
  "object",
  "event",
  "event_type",
  "action",
]);

/** Names of members that contain times of events. A time under another name may be personal, such as a birth date. */
const times: ReadonlySet<string> = new Set(
  "created created_at updated updated_at timestamp occurred_at sent_at delivered_at event_time webhook_timestamp".split(
    " ",
  ),
);

/** The maximum length of a name that is looked up, in characters. For longer names, `spelled` would be slow. */
const mostName = 64;

/** Returns whether a set of uniformly spelled names contains a name, in whatever spelling. */
export const isAmong = (names: ReadonlySet<string>, name: string): boolean =>
  name.length <= mostName && names.has(spelled(name));

export const isStructural = (name: string): boolean => isAmong(structural, name);

export const isTime = (name: string): boolean => isAmong(times, name);
