import { printable } from "../lib/terminal/text.js";

/** The maximum length of a line that is collected, in characters. */
const longest = 1_000;

/** The maximum numbers of lines collected per delivery, and of deliveries with lines. */
const most = { lines: 20, deliveries: 100 };

/** Collects the lines of an app's output that name a delivery. */
export interface LogLines {
  /** Returns a function that reads one output stream of the app, in parts of any size. */
  readonly reader: () => (text: string) => void;
  /** Returns the number of lines read so far. */
  readonly position: () => number;
  /**
   * Removes the lines about a delivery that were read before `position`, and returns them, cleaned and without
   * secrets.
   */
  readonly take: (deliveryId: string, position: number) => readonly string[];
}

export function collectLines(): LogLines {
  const collected = new Map<string, { readonly index: number; readonly text: string }[]>();
  let count = 0;

  function add(id: string, line: string): void {
    const lines = collected.get(id) ?? [];
    if (lines.length < most.lines) lines.push({ index: count, text: printable(line, longest) });
    collected.set(id, lines);
    const [oldest] = collected.keys();
    if (collected.size > most.deliveries && oldest !== undefined) collected.delete(oldest);
  }

  return {
    reader() {
      let rest = "";
      /** The delivery that the last unindented line names. Indented lines, such as a stack trace, belong to it. */
      let current: string | undefined;
      return (text) => {
        const lines = (rest + text).split("\n");
        // Limits the rest, because a line may never end.
        rest = (lines.pop() ?? "").slice(0, longest * 2);
        for (const line of lines) {
          if (!line.startsWith(" ")) current = /\bdlv_[\w-]{1,250}/.exec(line)?.[0];
          if (current !== undefined) add(current, line);
          count += 1;
        }
      };
    },
    position: () => count,
    take(deliveryId, position) {
      const lines = collected.get(deliveryId) ?? [];
      const taken = lines.filter(({ index }) => index < position);
      if (taken.length === lines.length) collected.delete(deliveryId);
      else collected.set(deliveryId, lines.slice(taken.length));
      return taken.map(({ text }) => text);
    },
  };
}
