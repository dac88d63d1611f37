/**
 * What fragments in READMEs may use without declaring it, because it is the reader's own: each
 * export is a global of every block. What comes from a package is not for here; blocks import it.
 */
import type { Handlers } from "@svc-webhooks/core";

export const secret = "whsec_test";

export const on: Handlers = { "*": () => {} };
