import type { View } from "../../view.js";
import { Action, isRefused, typed } from "../parts/action.js";
import { Key } from "../parts/elements.js";

const options = { place: "options" };

/** Sends an email without an API key. */
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
        <label>
          To{" "}
          <input
            name="to"
            placeholder="ada@example.test"
            value={typed(view, "test-email", options, "to")}
          />
        </label>
        <label>
          Subject{" "}
          <input
            name="subject"
            placeholder="Test email"
            value={typed(view, "test-email", options, "subject")}
          />
        </label>
        <label>
          What happens to it{" "}
          <select name="scenario">
            {["delivered", "bounced", "failed", "delayed"].map((one) => (
              <option selected={one === typed(view, "test-email", options, "scenario")}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <button>Send it</button>
      </Action>
    </details>
  </div>
);
