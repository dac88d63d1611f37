import type { SqliteInboxDatabase } from "@svc-webhooks/sqlite";
import type { InboxSettings, InboxUnderTest } from "@svc-webhooks/testing/inbox";

/**
 * Returns an inbox in a new file for the contract.
 *
 * @param open opens a connection to the file
 * @param hasStore whether the records are in the file, so that their commits also end the jobs
 */
export function sqliteInboxUnderTest(
  open: () => SqliteInboxDatabase & { close(): unknown },
  settings: InboxSettings,
  hasStore: boolean,
): InboxUnderTest;
