import type { Readable } from "node:stream";
import type { Output } from "../paint.js";

/**
 * Copies a stream, no faster than the output accepts it. What has been read is also passed to `read`.
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
    // An output that failed never drains.
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
