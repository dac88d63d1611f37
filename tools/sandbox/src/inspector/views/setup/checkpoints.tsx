import { checkpoints } from "../../../read/lists.js";
import type { View } from "../../view.js";
import { count } from "../../words.js";
import { Action, ActionButton, typed } from "../parts/action.js";
import { Text, Time } from "../parts/elements.js";
import { Panel } from "../parts/piece.js";

/** The checkpoints, each with a button that rewinds to it, and the form that takes another checkpoint. */
export const Checkpoints = ({ view }: { view: View }) => {
  const all = checkpoints(view.service);
  return (
    <Panel id="checkpoints" data={all} title="Checkpoints" note="the whole state and the clock">
      {all.map(({ name, at, calls, pending }) => (
        <div class="item">
          <p>
            <Text of={name} />
          </p>
          <p class="sub">
            <Time at={at} />, {count(calls, "call", "calls")}, {pending} waiting
          </p>
          <ActionButton view={view} name="rewind" with={{ name }} text="Rewind" />
        </div>
      ))}
      <Action view={view} name="checkpoint" class="line" label="New checkpoint">
        <input
          name="name"
          aria-label="Name of the checkpoint"
          placeholder="checkpoint"
          maxlength={60}
          value={typed(view, "checkpoint", {}, "name")}
        />
        <button>Take a checkpoint</button>
      </Action>
    </Panel>
  );
};
