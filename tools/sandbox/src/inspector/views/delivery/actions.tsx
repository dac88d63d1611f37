import { tamperTexts } from "../../words.js";
import { Action, allTyped, isRefused, Select, typed } from "../parts/action.js";
import { Key } from "../parts/elements.js";
import type { AttemptProps, DeliveryProps } from "./props.js";

export interface ActionsProps extends DeliveryProps {
  /** The attempt that is shown, if there is one. */
  readonly attempt: AttemptProps["attempt"] | undefined;
}

/** The action buttons of a delivery. */
export const Actions = ({ view, delivery, attempt }: ActionsProps) => {
  const { id } = delivery;
  const edit = { id, place: "edit" };
  const copies = { id, place: "copies" };
  const tamper = { id, place: "tamper" };
  const text = delivery.body.text;
  const isWhole = text !== undefined && !delivery.body.truncated;
  return (
    <section id="actions" class="acts" aria-label="Actions" data-rev={`${id} ${attempt?.n ?? 0}`}>
      <Action view={view} name="redeliver" with={{ id }}>
        <button data-key="r">
          Redeliver <Key of="r" />
        </button>
      </Action>
      <details id="edit" open={isRefused(view, "send", edit)}>
        <summary data-key="e">
          Edit and send… <Key of="e" />
        </summary>
        {isWhole ? (
          <Action view={view} name="send" with={edit} class="fields" label="Edit and send">
            <label>
              Edited body (signed again and sent as a new delivery)
              <textarea name="body" rows={8} spellcheck={false} required>
                {/* HTML parsers remove a line break at the start of a text area, so the text follows an extra one. */}
                {`\n${typed(view, "send", edit, "body", text)}`}
              </textarea>
            </label>
            <button>Send the edited body</button>
          </Action>
        ) : (
          <p class="sub">
            {text === undefined ? "The body is not text." : "The body is too long to edit here."}{" "}
            <code>POST /_sandbox/deliveries/{id}/send</code> accepts any bytes.
          </p>
        )}
      </details>
      <details id="copies" open={isRefused(view, "send", copies)}>
        <summary>Send copies…</summary>
        <Action view={view} name="send" with={copies} class="fields" label="Send copies">
          <label>
            Copies{" "}
            <input
              type="number"
              name="times"
              min={1}
              max={100}
              value={typed(view, "send", copies, "times", "20")}
              required
            />
          </label>
          <label class="check">
            <input
              type="checkbox"
              name="concurrent"
              value="on"
              checked={allTyped(view, "send", copies, "concurrent", ["on"]).length > 0}
            />{" "}
            all at the same time
          </label>
          <button>Send the copies</button>
        </Action>
      </details>
      <details id="tamper" open={isRefused(view, "send", tamper)}>
        <summary>Tamper…</summary>
        <Action view={view} name="send" with={tamper} class="fields" label="Tamper">
          <label>
            Choose what to break{" "}
            <Select
              name="tamper"
              options={Object.entries(tamperTexts)}
              selected={typed(view, "send", tamper, "tamper")}
            />
          </label>
          <button>Send it tampered</button>
        </Action>
      </details>
      {attempt && (
        <a
          class="btn"
          href={`/_sandbox/deliveries/${id}/attempts/${attempt.n}/curl`}
          data-copy-from
          data-key="c"
        >
          Copy as curl <Key of="c" />
        </a>
      )}
    </section>
  );
};
