/**
 * Formats the milliseconds left on a countdown as `9.2 s`, `12 s`, `5 min 3 s` or `2 h 5 min`. The server and the
 * script share this function.
 *
 * @param isStill whether to omit tenths in the last ten seconds. Default: false
 */
export function countdownText(ms: number, isStill = false): string {
  if (ms <= 0) return "0 s";
  if (ms < 10_000 && !isStill) return `${(ms / 1_000).toFixed(1)} s`;
  const s = Math.ceil(ms / 1_000);
  if (s < 60) return `${s} s`;
  const [hours, minutes] = [Math.floor(s / 3_600), Math.floor((s % 3_600) / 60)];
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${s % 60} s`;
}

/** Returns the percentage of the time from `from` to `to` that has passed at `now`, from 0 to 100. */
export const passedPercent = (now: number, from: number, to: number): number =>
  to <= from ? 100 : Math.min(100, Math.max(0, (100 * (now - from)) / (to - from)));
