import { courses } from "../../../assumptions/table.js";
import type { View } from "../../view.js";
import { Action, isRefused, Select, typed } from "../parts/action.js";
import { Key } from "../parts/elements.js";

const options = { place: "options" };

const texts = [
  { text: "To", name: "to", placeholder: "ada@example.test" },
  { text: "Subject", name: "subject", placeholder: "Test email" },
];

/** A form that sends a test email, without an API key. */
export const TestEmail = ({ view }: { view: View }) => (
  <div class="end" id="test-email" data-rev="form">
    <Action view={view} name="test-email" with={{ place: "timeline" }}>
      <button data-key="t">
        Send a test email <Key of="t" />
      </button>
    </Action>
    <details class="menu" id="test-email-options" open={isRefused(view, "test-email", options)}>
      <summary aria-label="Options of the test email">…</summary>
      <Action view={view} name="test-email" with={options} class="fields" label="Test email">
        {texts.map(({ text, ...input }) => (
          <label>
            {text} <input {...input} value={typed(view, "test-email", options, input.name)} />
          </label>
        ))}
        <label>
          What happens to it{" "}
          <Select
            name="scenario"
            options={courses}
            selected={typed(view, "test-email", options, "scenario")}
          />
        </label>
        <button>Send it</button>
      </Action>
    </details>
  </div>
);
