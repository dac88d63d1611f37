import type { Context } from "../../command.js";
import { printable } from "./text.js";

const width = 30;
const mostCharacters = 200;

/** A progress line at the bottom of a terminal. Nothing is written if stderr is not a terminal, or with `--json`. */
export interface Progress {
  /**
   * Shows the text next to a progress bar.
   *
   * @param share the fraction of the work that is done, 0 … 1
   */
  readonly update: (share: number, text: string) => void;
  /** Removes the line, for example before another one is written. */
  readonly clear: () => void;
}

export function createProgress({ stderr, json }: Pick<Context, "stderr" | "json">): Progress {
  if (json || stderr.isTTY !== true) return { update: () => {}, clear: () => {} };
  let shown = "";
  return {
    update(share, text) {
      const done = Math.floor(Math.min(Math.max(share, 0), 1) * width);
      const bar = `${"#".repeat(done)}${"-".repeat(width - done)}`;
      const line = printable(`[${bar}] ${Math.floor(share * 100)} %  ${text}`, mostCharacters);
      if (line === shown) return;
      shown = line;
      stderr.write(`\r\u001b[K${line}`);
    },
    clear() {
      if (shown !== "") stderr.write("\r\u001b[K");
      shown = "";
    },
  };
}
