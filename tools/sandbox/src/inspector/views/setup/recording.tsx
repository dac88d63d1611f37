import type { View } from "../../view.js";
import { count } from "../../words.js";
import { Action, ActionButton, typed } from "../parts/action.js";
import { Panel } from "../parts/piece.js";

/** The controls that record actions and requests to the interface as a scenario, and the link to the result. */
export const Recording = ({ view }: { view: View }) => {
  const { recording } = view.overview;
  const isOn = recording?.state === "recording";
  return (
    <Panel
      id="recording"
      // Omits the number of steps: it changes with each request, and updates would disturb a user who types a name.
      data={[recording?.state, recording?.name]}
      title="Scenario"
      note={isOn ? "recording" : "records your steps as a file"}
    >
      {recording?.state === "finished" && (
        <div class="item">
          <p>
            <a href="/_sandbox/recording" download={`${recording.name}.json`}>
              Download {recording.name}.json
            </a>
          </p>
          <p class="sub">
            {count(recording.steps, "step", "steps")}
            {recording.left_out > 0 &&
              `, without ${count(recording.left_out, "request or action", "requests or actions")} that could not be recorded`}
          </p>
        </div>
      )}
      {isOn ? (
        <Action view={view} name="stop-recording" class="line" label="End of the recording">
          <input
            name="name"
            aria-label="Name of the scenario"
            placeholder="scenario"
            maxlength={60}
            value={typed(view, "stop-recording", {}, "name")}
          />
          <button>Stop recording</button>
        </Action>
      ) : (
        <ActionButton view={view} name="start-recording" text="Start recording" />
      )}
    </Panel>
  );
};
