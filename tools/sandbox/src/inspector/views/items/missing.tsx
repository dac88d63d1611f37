import type { ApiError } from "../../../errors.js";
import { href } from "../../page-state.js";
import type { View } from "../../view.js";
import { count } from "../../words.js";
import { Linked, Text, Time } from "../parts/elements.js";
import { Piece } from "../parts/piece.js";

interface MissingProps {
  readonly view: View;
  readonly id: string;
  readonly error: ApiError;
}

/** Lists the possible reasons why an item is not stored. For an error other than a 404, shows its message instead. */
export const Missing = ({ view: { state, overview }, id, error }: MissingProps) => {
  const {
    dropped,
    started_at: started,
    reset_at: reset,
    rewound_at: rewound,
    is_kept: kept,
  } = overview;
  return (
    <Piece id="missing" class="about" data={[id, dropped, reset, rewound]}>
      <h2 id="h-detail">
        <Text of={id} /> is not here
      </h2>
      {error.status === 404 ? (
        <ul class="plain">
          {reset !== undefined && (
            <li>
              Everything was removed by a reset at <Time at={reset} />.
            </li>
          )}
          {rewound !== undefined && (
            <li>
              Everything after <Time at={rewound} /> was removed by a rewind to a checkpoint.
            </li>
          )}
          {dropped > 0 && (
            <li>
              {count(dropped, "older call was", "older calls were")} dropped, because the sandbox
              keeps a limited number.
            </li>
          )}
          <li>
            The sandbox was started at <Time at={started} />
            {kept
              ? ", with the data in its file."
              : ", without any data: it keeps everything in memory. To keep its data, start it with --data FILE."}
          </li>
        </ul>
      ) : (
        <p>
          <Linked text={error.message} />
        </p>
      )}
      <p>
        <a href={href(state, { item: undefined, attempt: undefined })}>Back to the start</a>
      </p>
    </Piece>
  );
};
