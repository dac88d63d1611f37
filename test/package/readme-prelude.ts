/**
 * Values that blocks use without declaring them, because they belong to a block above on the same page. Each
 * export is a global in every block. Blocks import everything that packages export.
 */
import { createClient } from "@svc-webhooks/client";

/** A client of the sandbox of `readme.matrix.ts` while it runs a block. */
export const client = createClient({
  apiKey: "svc_test",
  baseUrl: process.env["SVC_BASE_URL"] ?? "http://127.0.0.1:4010",
});
