/** Formats a string with a date and time as UTC, such as `22 Nov 11:57:26Z`. Returns any other value unchanged. */
export function shortTime(value: unknown): unknown {
  const time = new Date(typeof value === "string" ? value : Number.NaN);
  if (Number.isNaN(time.getTime())) return value;
  const [, day, month, , clock] = time.toUTCString().split(" ");
  return `${day} ${month} ${clock}Z`;
}
