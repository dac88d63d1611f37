import { ApiError } from "../../errors.js";
import { assumptionsBehind, findDelivery } from "../../control/queries.js";
import { deliveryShape } from "../../control/shapes.js";
import { matchRoute } from "../../http/route.js";
import { operations } from "../../service/operations.js";
import { shownAttempt } from "../page-state.js";
import type { View } from "../view.js";
import { Assumptions } from "./assumptions.js";
import { Action } from "./action.js";
import { Domains } from "./domains.js";
import { Endpoints } from "./endpoints.js";
import { Faults } from "./faults.js";

/** The state of the world that explains the timeline. */
export const Setup = ({ view }: { view: View }) => (
  <aside class="rail" id="setup" aria-label="Set-up">
    <Endpoints view={view} />
    <Faults view={view} />
    <Assumptions view={view} behind={assumptionsOf(view)} />
    <Domains view={view} />
    <section class="panel" id="storage" aria-labelledby="h-storage">
      <h2 id="h-storage">Start again</h2>
      <details id="reset">
        <summary>Reset</summary>
        <p class="sub">Removes all calls, deliveries, endpoints, domains and faults.</p>
        <Action view={view} name="reset">
          <button>Remove everything</button>
        </Action>
      </details>
    </section>
  </aside>
);

/** The assumptions behind the item that is shown. */
function assumptionsOf({ service, state }: View): readonly string[] {
  const { item = "" } = state;
  try {
    const path = service.state.calls.get(item);
    if (path) return usedBy(operationOf(path.method, path.path));
    if (item.startsWith("send_")) return usedBy("POST /v1/emails");
    if (item.startsWith("src_")) return ["A-03", "A-04"];
    if (item === "") return [];
    const delivery = findDelivery(service, item);
    const attempt = delivery.attempts[shownAttempt(state, delivery.attempts.length) - 1];
    const ids = new Set(deliveryShape(service, delivery).assumptions);
    for (const id of attempt ? assumptionsBehind(attempt) : []) ids.add(id);
    return Array.from(ids).toSorted();
  } catch (error) {
    if (error instanceof ApiError) return [];
    throw error;
  }

  function usedBy(place: string) {
    return service.ledger
      .list()
      .filter(({ used_by: places }) => places.includes(place))
      .map(({ id }) => id);
  }
}

function operationOf(method: string, path: string): string {
  try {
    const { operation } = matchRoute(operations, method, path);
    return `${operation.method} ${operation.path}`;
  } catch {
    return "";
  }
}
