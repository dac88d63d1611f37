import { clockModes } from "../../../clock.js";
import { activeEndpoints, domains, waitingFaults } from "../../../read/lists.js";
import { clockShape } from "../../../read/shapes.js";
import { formOf } from "../../forms.js";
import { href } from "../../page-state.js";
import { revision, type View } from "../../view.js";
import { count, durationText } from "../../words.js";
import { Action, ActionButton, Refusal, Select } from "../parts/action.js";
import { Copy, Icon, Key, Linked } from "../parts/elements.js";

export const Header = ({ view }: { view: View }) => {
  const { service } = view;
  const places = [
    ["endpoints", `Endpoints ${activeEndpoints(service).length}`],
    ["faults", `Faults ${waitingFaults(service)}`],
    ["assumptions", `Assumptions ${service.ledger.list().length}`],
    ["domains", `Domains ${domains(service).length}`],
  ] as const;
  return (
    <header class="top" id="header">
      <h1 class="brand">
        <Icon of="logo" />
        svc-webhooks <span>sandbox</span>
      </h1>
      <div class="group" id="base-url">
        <span class="label">Base URL</span>
        <code>{view.overview.base_url}</code>
        <Copy text={view.overview.base_url} label="Copy the base URL" />
      </div>
      <nav class="jump" id="jump" aria-label="Set-up" data-rev={revision(places)}>
        {places.map(([id, text]) => (
          <a href={`#${id}`}>{text}</a>
        ))}
      </nav>
      <div class="right">
        <Clock view={view} />
        <div class="group" id="live" hidden data-started={view.instance} data-kept={keptText(view)}>
          <span class="live" data-live="connecting">
            <Icon of="dot" />
            <span data-live-text>Connecting</span>
          </span>
          <button type="button" id="pause" aria-pressed="false">
            Pause
          </button>
          <button class="bare" type="button" id="help" aria-label="Keyboard shortcuts">
            <Key of="?" />
          </button>
        </div>
        <Scheme />
      </div>
      <Notice view={view} />
    </header>
  );
};

/** A list that selects the color scheme. Without the script, it is hidden, and the system's scheme applies. */
const Scheme = () => (
  <select id="scheme" aria-label="Color scheme" hidden>
    <option value="">System</option>
    <option value="light">Light</option>
    <option value="dark">Dark</option>
  </select>
);

const inMenu = { place: "mode" };

const Clock = ({ view }: { view: View }) => {
  const clock = clockShape(view.service);
  const { mode, offset_ms: offset, next_due: due } = clock;
  const speed = mode === "real" ? 1 : mode === "manual" ? 0 : clock.speed;
  // Only a clock that stands still has its time in the revision: a running clock has another time in each render.
  const still = mode === "manual" ? clock.now : undefined;
  const words = [
    mode === "accelerated" ? `${mode}, ${speed} times` : mode,
    ...(offset > 0 ? [`${durationText(offset)} ahead`] : []),
    ...(offset < 0 ? [`${durationText(-offset)} behind`] : []),
  ];
  return (
    <div
      class="group"
      id="clock"
      role="group"
      aria-label="Clock"
      data-now={Date.parse(clock.now)}
      data-speed={speed}
      data-rev={revision([mode, offset, speed, due !== undefined, still])}
    >
      <time class="clock" datetime={clock.now}>
        {clock.now.slice(11, 21)}
      </time>
      <details class="menu" id="clock-mode">
        <summary>Clock: {words.join(", ")}</summary>
        <Action view={view} name="clock" with={inMenu} class="line" label="Mode of the clock">
          <Select name="mode" label="Mode" options={clockModes} selected={mode} />
          <button>Set</button>
        </Action>
      </details>
      <ActionButton view={view} name="clock" with={{ advance_ms: 1_000 }} text="+1 s" />
      <ActionButton view={view} name="clock" with={{ advance_ms: 60_000 }} text="+1 min" />
      <Action view={view} name="clock" with={{ to: "next" }}>
        <button
          disabled={due === undefined}
          title="Moves the clock to the next task, such as a retry"
          data-key="."
        >
          To next retry
        </button>
      </Action>
    </div>
  );
};

/** Returns the end of a sentence about a restart, such as `2 deliveries resumed`. */
const keptText = ({ overview: { is_kept: isKept, counts } }: View) =>
  isKept
    ? `${count(counts.waiting, "delivery", "deliveries")} resumed`
    : "without the earlier data (to keep it, start the sandbox with --data)";

/** The result of the last action and, without the script, links that reload the page. */
const Notice = ({ view: { state, done, outcome, isFormGone } }: { view: View }) => (
  <>
    {isFormGone && outcome?.kind === "refused" && <Refusal message={outcome.message} />}
    <p class="notice" id="notice" data-rev={done ?? ""} hidden={done === undefined}>
      {done !== undefined && <Linked text={formOf(done).done} />}
    </p>
    <p class="notice" id="restarted" hidden />
    <noscript>
      <p class="notice">
        {state.refresh === undefined ? (
          <>
            Without JavaScript, this page does not update itself.{" "}
            <a href={href(state)}>Reload it</a>, or have it{" "}
            <a href={href(state, { refresh: "5" })}>reload every 5 seconds</a>.
          </>
        ) : (
          <>
            The page reloads every {state.refresh} seconds.{" "}
            <a href={href(state, { refresh: undefined })}>Stop that</a>.
          </>
        )}
      </p>
    </noscript>
  </>
);
