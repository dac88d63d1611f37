import type { AssumptionState } from "../../../assumptions/ledger.js";
import type { View } from "../../view.js";
import { Action, isRefused, Select, typed } from "../parts/action.js";
import { Text } from "../parts/elements.js";
import { Panel } from "../parts/piece.js";

interface AssumptionsProps {
  readonly view: View;
  /** The ids of the assumptions that apply to the item that is shown. */
  readonly behind: readonly string[];
}

const isChanged = (assumption: AssumptionState) => assumption.value !== assumption.default;

function noteOf(all: readonly AssumptionState[]): string {
  const changed = all.filter(isChanged).length;
  return `${all.length}, ${changed === 0 ? "all at their defaults" : `${changed} changed`}`;
}

/** The assumptions: first those that apply to the shown item, then the changed ones, then the rest. */
export const Assumptions = ({ view, behind }: AssumptionsProps) => {
  const all = view.service.ledger.list();
  const isBehind = ({ id }: AssumptionState) => behind.includes(id);
  const changed = all.filter((assumption) => isChanged(assumption) && !isBehind(assumption));
  const others = all.filter((assumption) => !isChanged(assumption) && !isBehind(assumption));
  return (
    <Panel id="assumptions" data={[all, behind]} title="Assumptions" note={noteOf(all)}>
      <p class="sub">
        The interface document does not specify these points. They are the sandbox's choices, not
        facts about the service.
      </p>
      <Group view={view} id="behind" title="Behind this item" rows={all.filter(isBehind)} />
      <Group view={view} id="changed" title="Changed" rows={changed} />
      <Group
        view={view}
        id="all-assumptions"
        title={behind.length + changed.length === 0 ? "All" : "All others"}
        rows={others}
      />
    </Panel>
  );
};

interface GroupProps {
  readonly view: View;
  readonly id: string;
  readonly title: string;
  readonly rows: readonly AssumptionState[];
}

/** A group of assumptions, folded unless a change to one of them was rejected. */
const Group = ({ view, id: group, title, rows }: GroupProps) =>
  rows.length === 0 ? null : (
    <details id={group} open={rows.some(({ id }) => isRefused(view, "set-assumption", { id }))}>
      <summary>
        {title}: {rows.length}
      </summary>
      <Rows view={view} rows={rows} />
    </details>
  );

const Rows = ({ view, rows }: Pick<GroupProps, "view" | "rows">) => (
  <ul class="led">
    {rows.map((row) => (
      <li>
        <code class="id">{row.id}</code>
        <details id={`set-${row.id}`} open={isRefused(view, "set-assumption", { id: row.id })}>
          <summary>
            <code>{row.setting}</code>
            {isChanged(row) && <span class="tag">changed</span>}
            <span class="v">
              <Text of={row.value} />
              {isChanged(row) && (
                <span class="quiet">
                  {" "}
                  (default: <Text of={row.default} />)
                </span>
              )}
            </span>
          </summary>
          {/* A link to this id opens the details around it. */}
          <div id={row.id}>
            <p class="sub">{row.text}</p>
            {row.alternatives.length > 0 && <Change view={view} row={row} />}
          </div>
        </details>
      </li>
    ))}
  </ul>
);

/** A form that changes an assumption: a list of its words, or a text field if a list cannot cover all values. */
const Change = ({ view, row }: { view: View; row: AssumptionState }) => {
  const { id, value, alternatives, default: first } = row;
  const words = [first, ...alternatives.filter((word) => word !== first)];
  const shown = typed(view, "set-assumption", { id }, "value", value);
  const isFree = words.some((word) => word.includes("<")) || !words.includes(value);
  return (
    <Action view={view} name="set-assumption" with={{ id }} class="line" label={`Change ${id}`}>
      {isFree ? (
        <>
          <input
            name="value"
            class="mono"
            value={shown}
            list={`words-${id}`}
            aria-label={`Value of ${id}`}
          />
          <datalist id={`words-${id}`}>
            {words.map((word) => (
              <option value={word} />
            ))}
          </datalist>
        </>
      ) : (
        <Select name="value" label={`Value of ${id}`} options={words} selected={shown} />
      )}
      <button>Set</button>
    </Action>
  );
};
