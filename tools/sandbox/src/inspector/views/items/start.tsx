import { activeEndpoints } from "../../../read/lists.js";
import { hasFailed, noteworthyDelivery } from "../../../read/queries.js";
import type { View } from "../../view.js";
import { Action } from "../parts/action.js";
import { Copy, Icon } from "../parts/elements.js";
import { NewEndpoint, typesOf } from "../setup/endpoints.js";
import { ReceiverCode } from "../setup/receiver-code.js";
import { Piece } from "../parts/piece.js";
import { ItemLink } from "../parts/trail.js";

/**
 * The content while no item is selected: a link to the newest failure, or else to the newest delivery. Without
 * deliveries, the first steps.
 */
export const Start = ({ view }: { view: View }) => {
  const shown = noteworthyDelivery(view.service);
  if (!shown) return <FirstSteps view={view} />;
  return (
    <Piece id="about" class="about" data={[shown.id, shown.state]}>
      <h2 id="h-detail">Select a delivery to see its details</h2>
      <p>
        {hasFailed(shown) ? "The newest failure: " : "The newest delivery: "}
        <ItemLink view={view} id={shown.id} of={shown.type} />.
      </p>
    </Piece>
  );
};

const FirstSteps = ({ view }: { view: View }) => {
  const hasEndpoint = activeEndpoints(view.service).length > 0;
  const lines = `SVC_BASE_URL=${view.overview.base_url}\nSVC_API_KEY=svc_test`;
  const types = typesOf(view);
  return (
    <Piece id="about" class="about steps" data={[hasEndpoint, types]}>
      <h2 id="h-detail">Three steps to the first delivery</h2>
      <ol>
        <li>
          <h3>Point your code at the sandbox</h3>
          <p>By default, the sandbox accepts any API key.</p>
          <div class="line">
            <pre class="body">{lines}</pre>
            <Copy text={lines} label="Copy the environment" />
          </div>
        </li>
        <li>
          <h3>
            Register your receiver{" "}
            {hasEndpoint && (
              <span class="ok">
                <Icon of="ok" /> done
              </span>
            )}
          </h3>
          {hasEndpoint ? (
            <p>
              {view.outcome?.kind === "secret" ? (
                <>
                  Give your receiver <a href="#secret">its signing secret</a>, which is shown only
                  once.
                </>
              ) : (
                <>
                  Its signing secret was shown once. <a href="#endpoints">Rotate it</a> to see a new
                  one.
                </>
              )}
            </p>
          ) : (
            <NewEndpoint view={view} place="steps" label="Register your receiver" />
          )}
          {view.outcome?.kind !== "secret" && <ReceiverCode id="first-receiver" />}
        </li>
        <li>
          <h3>Send an email</h3>
          <p>
            The sandbox simulates sending and delivering the email, and posts each event to your
            receiver. If no receiver is listening, the attempts fail and are retried.
          </p>
          <Action view={view} name="test-email" with={{ place: "steps" }}>
            <button class={hasEndpoint ? "main" : undefined}>Send a test email</button>
          </Action>
        </li>
      </ol>
    </Piece>
  );
};
