import { endpoints } from "../../../read/lists.js";
import type { endpointShape } from "../../../read/shapes.js";
import { eventTypes } from "../../../delivery/event-types.js";
import { href } from "../../page-state.js";
import { nowOf, type View } from "../../view.js";
import { shortUrl } from "../../words.js";
import { Action, ActionButton, allTyped, isRefused, typed } from "../parts/action.js";
import { Code, Copy, Icon, Text, Time } from "../parts/elements.js";
import { Panel } from "../parts/piece.js";
import { ReceiverCode } from "./receiver-code.js";

type Endpoint = ReturnType<typeof endpointShape>;

export const typesOf = ({ service }: View): readonly string[] =>
  eventTypes(service.ledger).map(({ type }) => type);

/** Returns an endpoint as an option of a select element. */
export const optionOf = ({ webhook_endpoint_id: id, url }: Endpoint) =>
  [id, shortUrl(url).slice(0, 60)] as const;

export const Endpoints = ({ view }: { view: View }) => {
  const all = endpoints(view.service);
  const active = all.filter(({ status }) => status === "active");
  const archived = all.filter(({ status }) => status !== "active");
  const secret = view.outcome?.kind === "secret" ? view.outcome : undefined;
  return (
    <Panel
      id="endpoints"
      data={[all, typesOf(view)]}
      title="Endpoints"
      note={`${active.length} active${archived.length > 0 ? `, ${archived.length} archived` : ""}`}
      // A secret is shown only once, so no update may remove it.
      keep={secret !== undefined}
    >
      {secret && <Secret view={view} id={secret.id} secret={secret.secret} />}
      {active.map((endpoint) => (
        <EndpointItem view={view} endpoint={endpoint} />
      ))}
      <details
        id="endpoint-form"
        open={
          (active.length === 0 && all.length > 0) ||
          isRefused(view, "create-endpoint", { place: "setup" })
        }
      >
        <summary>New endpoint</summary>
        <div id="new-endpoint">
          <NewEndpoint view={view} place="setup" label="New endpoint" />
        </div>
      </details>
      {archived.length > 0 && (
        <details id="archived">
          <summary>Archived: {archived.length}</summary>
          <ul class="plain">
            {archived.map(({ url, webhook_endpoint_id: id }) => (
              <li class="sub">
                <Text of={shortUrl(url)} /> <code>{id}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </Panel>
  );
};

const EndpointItem = ({ view, endpoint }: { view: View; endpoint: Endpoint }) => {
  const { webhook_endpoint_id: id, url, previous } = endpoint;
  return (
    <div class="item" id={id}>
      <p>
        <Code of={shortUrl(url)} />
      </p>
      <p class="sub">
        <code>{id}</code>, <Text of={endpoint.event_types.join(", ")} />
      </p>
      <p class="sub">
        secret <code>whsec_{endpoint.secret_hint}</code>
        {previous && Date.parse(previous.until) > nowOf(view) && (
          <>
            ; until <Time at={previous.until} />, attempts are signed with{" "}
            <code>whsec_{previous.secret_hint}</code>
          </>
        )}
      </p>
      <div class="line">
        <ActionButton view={view} name="rotate-secret" with={{ id }} text="Rotate secret" />
        <ActionButton view={view} name="archive" with={{ id }} text="Archive" />
      </div>
    </div>
  );
};

interface NewEndpointProps {
  readonly view: View;
  readonly place: string;
  readonly label: string;
}

/** The form for a new endpoint, with default values that suit a first endpoint. */
export const NewEndpoint = ({ view, place, label }: NewEndpointProps) => {
  const types = typesOf(view);
  const chosen = allTyped(view, "create-endpoint", { place }, "type", types);
  return (
    <Action view={view} name="create-endpoint" with={{ place }} class="fields" label={label}>
      <label>
        URL of your receiver
        <input
          name="url"
          class="mono"
          value={typed(view, "create-endpoint", { place }, "url", "http://localhost:3000/webhooks")}
          required
        />
      </label>
      <fieldset>
        <legend>Event types</legend>
        {types.map((type) => (
          <label class="check">
            <input type="checkbox" name="type" value={type} checked={chosen.includes(type)} />{" "}
            <Text of={type} />
          </label>
        ))}
      </fieldset>
      <button class={place === "steps" ? "main" : undefined}>Register</button>
    </Action>
  );
};

/** A new secret, which is shown only once, and the code of a receiver that uses it. */
const Secret = ({ view, id, secret }: { view: View; id: string; secret: string }) => {
  const line = `SVC_WEBHOOK_SECRET=${secret}`;
  return (
    <div class="secret" id="secret" role="group" aria-label="New signing secret">
      <p>
        <b>
          Signing secret of <code>{id}</code>
        </b>
        <br />
        It is shown only once. Copy it now.
      </p>
      <div class="line">
        <code class="whole">{secret}</code>
        <Copy text={line} label="Copy the secret as an environment variable" />
      </div>
      <p class="sub">
        Give it to your receiver as <code>SVC_WEBHOOK_SECRET</code>.
      </p>
      <ReceiverCode id="receiver-code" secret={secret} />
      <a class="btn" href={href(view.state, {}, "endpoints")} data-dismiss>
        <Icon of="ok" /> I have copied it
      </a>
    </div>
  );
};
