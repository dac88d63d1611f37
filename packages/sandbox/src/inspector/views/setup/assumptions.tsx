import type { AssumptionState } from "../../../assumptions/ledger.js";
import { revision, type View } from "../../view.js";
import { Action, isRefused, typed } from "../parts/action.js";
import { Text } from "../parts/elements.js";

interface AssumptionsProps {
  readonly view: View;
  /** The ids of the assumptions behind the item that is shown. */
  readonly behind: readonly string[];
}

const isChanged = (one: AssumptionState) => one.value !== one.default;

/** The assumptions: first those behind the shown item, then the changed ones, then the rest. */
export const Assumptions = ({ view, behind }: AssumptionsProps) => {
  const all = view.service.ledger.list();
  const isBehind = ({ id }: AssumptionState) => behind.includes(id);
  const changed = all.filter((one) => isChanged(one) && !isBehind(one));
  const others = all.filter((one) => !isChanged(one) && !isBehind(one));
  return (
    <section
      class="panel"
      id="assumptions"
      aria-labelledby="h-assumptions"
      data-rev={revision([all, behind])}
      tabindex={-1}
    >
      <div class="head">
        <h2 id="h-assumptions">Assumptions</h2>
        <span class="note">
          {all.length}, of which {all.filter(isChanged).length} changed
        </span>
      </div>
      <p class="sub">
        The interface document is silent here. These are choices of the sandbox, not facts about the
        service.
      </p>
      <Group view={view} title="Behind what is shown" rows={all.filter(isBehind)} />
      <Group view={view} title="Changed" rows={changed} />
      <details
        id="all-assumptions"
        open={others.some(({ id }) => isRefused(view, "set-assumption", { id }))}
      >
        <summary>
          {behind.length + changed.length === 0 ? "All" : "All others"}: {others.length}
        </summary>
        <Rows view={view} rows={others} />
      </details>
    </section>
  );
};

interface GroupProps {
  readonly view: View;
  readonly title: string;
  readonly rows: readonly AssumptionState[];
}

const Group = ({ view, title, rows }: GroupProps) =>
  rows.length === 0 ? null : (
    <>
      <h3>{title}</h3>
      <Rows view={view} rows={rows} />
    </>
  );

const Rows = ({ view, rows }: Omit<GroupProps, "title">) => (
  <ul class="led">
    {rows.map((row) => (
      <li>
        <code class="id">{row.id}</code>
        <details id={`set-${row.id}`} open={isRefused(view, "set-assumption", { id: row.id })}>
          <summary>
            <code>{row.setting}</code>
            {row.value !== row.default && <span class="tag">changed</span>}
            <span class="v">
              <Text of={row.value} />
              {row.value !== row.default && (
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

/** A list of the assumption's words, or a text field if a word contains a value. */
const Change = ({
  view,
  row: { id, value, alternatives, default: first },
}: {
  view: View;
  row: AssumptionState;
}) => {
  const words = [first, ...alternatives.filter((word) => word !== first)];
  const isFree = words.some((word) => word.includes("<")) || !words.includes(value);
  return (
    <Action view={view} name="set-assumption" with={{ id }} class="line" label={`Change ${id}`}>
      {isFree ? (
        <>
          <input
            name="value"
            class="mono"
            value={typed(view, "set-assumption", { id }, "value", value)}
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
        <select name="value" aria-label={`Value of ${id}`}>
          {words.map((word) => (
            <option selected={word === typed(view, "set-assumption", { id }, "value", value)}>
              {word}
            </option>
          ))}
        </select>
      )}
      <button>Set</button>
    </Action>
  );
};
