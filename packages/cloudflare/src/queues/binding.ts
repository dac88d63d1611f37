import { assertValid } from "@svc-webhooks/core";
import type { QueueLike } from "./queue-like.js";

/** Returns a binding, which is undefined if wrangler.jsonc does not bind its name. */
export function bindingOf(option: string, binding: () => QueueLike): QueueLike {
  const queue = binding();
  assertValid(
    typeof Object(queue).send === "function",
    option,
    `\`${option}\` must return a binding of \`queues.producers\` in wrangler.jsonc.`,
  );
  return queue;
}
