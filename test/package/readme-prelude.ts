/**
 * Values that README blocks use without declaring them, because they are the reader's own. Each
 * export is a global in every block. Blocks import everything that packages export.
 */
import { createClient } from "@svc-webhooks/client";
import type { Handlers } from "@svc-webhooks/core";

export const secret = "whsec_test";

export const on: Handlers = { "*": () => {} };

/** A client of the sandbox of `readme.matrix.ts` while it runs a block. */
export const client = createClient({
  apiKey: "svc_test",
  baseUrl: process.env["SVC_BASE_URL"] ?? "http://127.0.0.1:4010",
});

/** An endpoint that does not respond. */
export const endpointId: string = process.env["ENDPOINT_ID"] ?? "we_1";
