import type { Explanation } from "@svc-webhooks/explain";
import { tamperTexts } from "../../words.js";
import { Action, typed } from "../parts/action.js";
import type { AttemptProps } from "./props.js";
import { Icon, Scroll, Text, Verdict } from "../parts/elements.js";
import { Part } from "../parts/piece.js";

/** States whether the attempt was signed correctly, and explains a value that the receiver's code has computed. */
export const Signature = ({ view, delivery, attempt }: AttemptProps) => {
  const { signature, request, n, tamper } = attempt;
  const { outcome } = view;
  const shown = { id: delivery.id, n };
  const explained = outcome?.kind === "explained" ? outcome : undefined;
  const isTopic = tamper !== undefined || attempt.status === 401 || outcome?.action === "explain";
  return (
    <Part
      id="signature"
      data={[delivery.id, n, signature]}
      title={`Signature of attempt ${n}`}
      assumed="A-20"
    >
      <details id="signature-parts" open={isTopic}>
        <summary>{tamper === undefined ? "Signed correctly" : "Tampered"}</summary>
        {tamper === undefined ? (
          <Verdict of="ok">
            <b>Signed correctly.</b> The header contains the HMAC-SHA256 of the {request.body.bytes}{" "}
            body bytes.
            {attempt.status === 401 &&
              " A receiver that refuses a correctly signed request probably uses a different secret, or did not verify these bytes. If its log shows the fingerprint of its secret, compare it with the one below."}
          </Verdict>
        ) : (
          <Verdict of="bad">
            <b>Tampered:</b> {tamperTexts[tamper]}. A receiver must refuse this request
            {tamper === "previous_secret" &&
              ", unless it still accepts the previous secret after a rotation"}
            .
          </Verdict>
        )}
        <dl class="kv">
          <dt>X-SVC-Signature</dt>
          <dd>{signature.header === undefined ? "not sent" : <code>{signature.header}</code>}</dd>
          <dt>expected</dt>
          <dd>
            <code>{signature.expected}</code>
          </dd>
          <dt>secret</dt>
          <dd>
            {signature.secret_hint === undefined ? (
              "replaced since then, and no longer stored"
            ) : (
              <>
                <code>whsec_{signature.secret_hint}</code>, fingerprint{" "}
                <code>{signature.secret_fingerprint}</code>
              </>
            )}
          </dd>
        </dl>
        <Action view={view} name="explain" with={shown} class="paste" label="Explain a signature">
          <label for="mine">
            Paste the signature that your code computed to find out what went wrong.
          </label>
          <input
            id="mine"
            name="value"
            class="mono"
            value={explained?.fields["value"]?.[0] ?? typed(view, "explain", shown, "value")}
            placeholder="sha256=…"
            autocomplete="off"
            spellcheck={false}
            maxlength={10_000}
            required
          />
          <button>Explain</button>
        </Action>
        {explained && <Explained explanation={explained.explanation} bytes={request.body.bytes} />}
      </details>
    </Part>
  );
};

interface ExplainedProps {
  readonly explanation: Explanation;
  /** The length of the body that was sent, in bytes. */
  readonly bytes: number;
}

const Explained = ({ explanation, bytes }: ExplainedProps) => {
  const { verdict, mistake, next_step: nextStep, checked, body_difference: other } = explanation;
  if (verdict === "same") {
    return (
      <Verdict of="ok" id="explanation" role="status">
        <b>This signature is correct.</b> If your code still refuses the request, check how it
        compares the two signatures.
      </Verdict>
    );
  }
  return (
    <div
      class="verdict bad-tint"
      id="explanation"
      role="status"
      data-mistake={mistake?.id ?? "unknown"}
    >
      <Icon of="bad" class="bad" />
      <div>
        {mistake ? (
          <>
            <b>
              <Text of={mistake.cause} />
            </b>{" "}
            <Text of={mistake.fix} />
          </>
        ) : (
          <>
            <b>No match:</b> none of {checked.length} known mistakes produces this signature.{" "}
            <Text of={nextStep ?? ""} />
          </>
        )}
        {other && (
          <>
            {" "}
            Your code signed {other.bytes} bytes instead of the {bytes} that were sent.
            <Scroll label={`First difference, at byte ${other.at}`}>
              <table class="diff">
                <tbody>
                  <Excerpt name="sent" before={other.before} of={other.body} />
                  <Excerpt name="yours" before={other.before} of={other.yours} />
                </tbody>
              </table>
            </Scroll>
          </>
        )}
      </div>
    </div>
  );
};

/** Bytes on one line, with the first differing byte marked. */
const Excerpt = ({ name, before, of }: { name: string; before: string; of: string }) => (
  <tr>
    <th scope="row">{name}</th>
    <td>
      <code>
        <Text of={before} />
        <mark>{of.startsWith(" ") ? "␣" : <Text of={of.slice(0, 1)} />}</mark>
        <Text of={of.slice(1)} />
      </code>
    </td>
  </tr>
);
