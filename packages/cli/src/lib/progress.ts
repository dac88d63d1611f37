import type { Output } from "../command.js";

const width = 30;

/** A line at the bottom of a terminal. On anything else it writes nothing. */
export interface Progress {
  /** @param share of the work that is done, 0 … 1 */
  readonly update: (share: number, text: string) => void;
  /** Removes the line, for example before another one is written. */
  readonly clear: () => void;
}

export function createProgress(output: Output): Progress {
  if (output.isTTY !== true) return { update: () => {}, clear: () => {} };
  let shown = "";
  return {
    update(share, text) {
      const done = Math.floor(Math.min(Math.max(share, 0), 1) * width);
      const bar = `${"#".repeat(done)}${"-".repeat(width - done)}`;
      const line = `[${bar}] ${Math.floor(share * 100)} %  ${text}`;
      if (line === shown) return;
      shown = line;
      output.write(`\r\u001b[K${line}`);
    },
    clear() {
      if (shown !== "") output.write("\r\u001b[K");
      shown = "";
    },
  };
}
