import { assumptionsOfItem } from "../../../read/queries.js";
import { shownAttempt } from "../../page-state.js";
import type { View } from "../../view.js";
import { Assumptions } from "./assumptions.js";
import { ActionButton } from "../parts/action.js";
import { Checkpoints } from "./checkpoints.js";
import { Domains } from "./domains.js";
import { Endpoints } from "./endpoints.js";
import { Faults } from "./faults.js";
import { Recording } from "./recording.js";

/** The set-up: endpoints, faults, assumptions, domains, checkpoints, the recording and the reset. */
export const Setup = ({ view }: { view: View }) => (
  <aside class="rail" id="setup" aria-label="Set-up">
    <Endpoints view={view} />
    <Faults view={view} />
    <Assumptions view={view} behind={behindItem(view)} />
    <Domains view={view} />
    <Checkpoints view={view} />
    <Recording view={view} />
    <section class="panel" id="storage" aria-labelledby="h-storage">
      <h2 id="h-storage">Start again</h2>
      <details id="reset">
        <summary>Reset</summary>
        <p class="sub">
          Removes all calls, emails, events, deliveries, endpoints, domains, faults and checkpoints,
          and restores the initial assumptions.
        </p>
        <ActionButton view={view} name="reset" text="Remove everything" />
      </details>
    </section>
  </aside>
);

const behindItem = ({ service, state }: View): readonly string[] =>
  state.item === undefined
    ? []
    : assumptionsOfItem(service, state.item, (attempts) => shownAttempt(state, attempts));
