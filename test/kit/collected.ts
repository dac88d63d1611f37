import type { Readable } from "node:stream";

/**
 * Collects the text of streams. Chunks end anywhere, so look for whole lines in the text that is returned. Each stream
 * has one decoder, so that a character whose bytes arrive in two chunks is not damaged.
 */
export function collected(...streams: readonly Readable[]): () => string {
  let text = "";
  for (const stream of streams) {
    stream.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
  }
  return () => text;
}

/** Returns the whole lines of a text that is still being written: the last one has no end yet. */
export const linesOf = (text: string): readonly string[] => text.split("\n").slice(0, -1);

export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Collects the output of a process. It is complete when the process emits `close`; bytes may still be in its pipes when
 * it emits `exit`.
 */
export function outputFrom(child: {
  readonly stdout: Readable;
  readonly stderr: Readable;
}): Output {
  const [stdout, stderr] = [collected(child.stdout), collected(child.stderr)];
  return {
    get stdout() {
      return stdout();
    },
    get stderr() {
      return stderr();
    },
  };
}
