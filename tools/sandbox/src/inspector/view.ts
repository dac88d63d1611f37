import { createHash } from "node:crypto";
import type { Explanation } from "@svc-webhooks/explain";
import type { overview } from "../read/queries.js";
import type { Service } from "../service/service.js";
import type { ActionName } from "../control/actions.js";
import type { Fields } from "./forms.js";
import type { PageState } from "./page-state.js";

/** The outcome of a submitted form whose response is the page itself, not a redirect. */
export type Outcome = { readonly action?: ActionName; readonly fields: Fields } & (
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "secret"; readonly id: string; readonly secret: string }
  | { readonly kind: "explained"; readonly explanation: Explanation }
);

/** The data from which all parts of the page are rendered. */
export interface View {
  readonly service: Service;
  readonly state: PageState;
  readonly overview: ReturnType<typeof overview>;
  readonly outcome?: Outcome | undefined;
  /** The action that has just succeeded. */
  readonly done?: ActionName | undefined;
  /** Whether the rejected form is no longer on the page. The header then shows the error message. */
  readonly isFormGone?: boolean;
  /** A random id of this start of the sandbox. The script uses it to detect a restart. */
  readonly instance: string;
  readonly issueToken: () => string;
}

/** Returns a short hash of the data that a piece of the page shows. The script uses it to detect changes. */
export const revision = (data: unknown): string =>
  createHash("sha1")
    .update(JSON.stringify(data) ?? "")
    .digest("base64url")
    .slice(0, 10);

/** Returns the sandbox's time, in epoch milliseconds. */
export const nowOf = ({ overview: { clock } }: View): number => Date.parse(clock.now);
