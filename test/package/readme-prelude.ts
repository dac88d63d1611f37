/**
 * Values that README blocks use without declaring them, because they are the reader's own. Each
 * export is a global in every block. Blocks import everything that packages export.
 */
import type { Handlers } from "@svc-webhooks/core";

export const secret = "whsec_test";

export const on: Handlers = { "*": () => {} };
