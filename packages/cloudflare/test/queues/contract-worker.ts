import { PermanentError, serializeDelivery, type Outcome, type Receiver } from "@svc-webhooks/core";
import { queuesInbox, type QueueLike } from "@svc-webhooks/cloudflare/queues";

interface Bindings {
  readonly QUEUE: QueueLike;
  readonly DEAD: QueueLike;
  /** The process of the contract, which has the receivers. */
  readonly PROBE: Fetcher;
  readonly ATTEMPTS: number;
}

/** The end of a run in a process of the contract. */
export interface Resumed {
  readonly outcome: Outcome;
  readonly error?: { readonly code: string | undefined; readonly message: string } | undefined;
}

const post = async <Result>(to: Fetcher, path: string, data: unknown): Promise<Result> => {
  const response = await to.fetch(`http://probe${path}`, {
    method: "POST",
    body: JSON.stringify(data),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json<Result>();
};

/** Runs the handlers of a receiver that lives in another process. */
const remote = (probe: Fetcher, worker: number): Pick<Receiver, "resume"> => ({
  async resume(delivery, { onError, ...options } = {}) {
    const { outcome, error } = await post<Resumed>(probe, "/resume", {
      worker,
      delivery: serializeDelivery(delivery),
      options,
    });
    if (error) {
      const { code, message } = error;
      onError?.(code === "permanent_error" ? new PermanentError(message) : new Error(message));
    }
    return outcome;
  },
});

export default {
  async fetch(request: Request, { QUEUE }: Bindings): Promise<Response> {
    const { body, options } = await request.json<{
      readonly body: unknown;
      readonly options: { readonly contentType: "json" };
    }>();
    try {
      await QUEUE.send(body, options);
      return new Response();
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  },

  async queue(batch: MessageBatch, { QUEUE, DEAD, PROBE, ATTEMPTS }: Bindings): Promise<void> {
    if (batch.queue === "dead") {
      await post(
        PROBE,
        "/dead",
        batch.messages.map(({ body }) => body),
      );
      return;
    }
    const inbox = queuesInbox(() => QUEUE, { retry: { limit: ATTEMPTS, firstMs: 1, mostMs: 1 } });
    // Waits until a process works.
    const { worker } = await post<{ readonly worker: number }>(PROBE, "/assign", {});
    await inbox.consumer(remote(PROBE, worker), { dead: () => DEAD })(batch);
  },
};
