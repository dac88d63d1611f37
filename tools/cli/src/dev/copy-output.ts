import type { Readable } from "node:stream";
import type { Output } from "../paint.js";

/**
 * Copies a stream to an output, no faster than the output accepts it, and passes each part to `read` too.
 *
 * @returns a function that returns whether the copy waits for the output
 */
export function copyOutput(
  from: Readable,
  to: Output,
  read: (text: string) => void,
): () => boolean {
  let isWaiting = false;
  let hasFailed = false;
  const resume = () => {
    isWaiting = false;
    from.resume();
  };
  to.on?.("error", () => {
    // Continues without waiting, because an output that has failed never drains.
    hasFailed = true;
    resume();
  });
  from.setEncoding("utf8").on("data", (text: string) => {
    read(text);
    if (to.write(text) !== false || hasFailed || to.once === undefined) return;
    isWaiting = true;
    from.pause();
    to.once("drain", resume);
  });
  return () => isWaiting;
}
