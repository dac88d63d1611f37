/**
 * Values that fragments in READMEs use without declaring them, because they are the reader's own: each
 * export is a global of every block. Blocks import everything that packages export.
 */
import type { Handlers } from "@svc-webhooks/core";

export const secret = "whsec_test";

export const on: Handlers = { "*": () => {} };
