/** The part of a `Queue` binding that an inbox uses. */
export interface QueueLike {
  send(body: unknown, options: { contentType: "json" | "v8" }): Promise<unknown>;
}

/** The parts of a `MessageBatch` that a consumer uses. */
export interface QueueBatch {
  readonly messages: readonly QueueMessage[];
}

/** The parts of a `Message` that a consumer uses. */
export interface QueueMessage {
  readonly body: unknown;
  /** The number of this attempt, starting at 1. */
  readonly attempts: number;
  ack(): void;
  retry(options: { delaySeconds: number }): void;
}
