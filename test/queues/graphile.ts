import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Receiver } from "@svc-webhooks/core";
import type { Inbox, RetryOptions } from "@svc-webhooks/core/inbox";
import type { Pool } from "pg";
import { importBlock } from "./blocks.js";

/** The block of `docs/queues.md` about Graphile Worker. */
export interface Recipe {
  readonly schema: string;
  readonly graphileInbox: (pool: Pool, attempts?: number) => Inbox;
  readonly webhookTask: (receiver: Pick<Receiver, "resume">, retry: RetryOptions) => unknown;
}

/** The parts of `graphile-worker` that the tests call. */
export interface GraphileWorker {
  readonly run: (
    options: object,
  ) => Promise<{ stop(): Promise<void>; readonly promise: Promise<void> }>;
  readonly runMigrations: (options: object) => Promise<void>;
  readonly Logger: new (factory: () => () => void) => object;
}

export const recipeIn = (folder: string): Promise<Recipe> =>
  importBlock<Recipe>(folder, "docs/queues.md", '"graphile-worker"');

export const graphileIn = async (folder: string): Promise<GraphileWorker> =>
  (
    (await import(
      pathToFileURL(join(folder, "node_modules/graphile-worker/dist/index.js")).href
    )) as { readonly default: GraphileWorker }
  ).default;
