import { assertValid } from "@svc-webhooks/core/adapter";
import type { QueueLike } from "./queue-like.js";

/**
 * Returns the result of `binding`. Throws if it is not a queue, for example because wrangler.jsonc does not bind its
 * name.
 */
export function bindingOf(option: string, binding: () => QueueLike): QueueLike {
  const queue = binding();
  assertValid(
    typeof Object(queue).send === "function",
    option,
    `\`${option}\` must return a binding of \`queues.producers\` in wrangler.jsonc.`,
  );
  return queue;
}
