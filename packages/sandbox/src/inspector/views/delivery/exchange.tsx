import { href } from "../../page-state.js";
import type { View } from "../../view.js";
import { amount, durationText, resultWords, shortUrl, upperFirst } from "../../words.js";
import { Bytes, HeaderTable } from "../parts/bytes.js";
import { Assumed, Icon, Linked, Text } from "../parts/elements.js";
import { Piece } from "../parts/piece.js";
import type { AttemptProps, AttemptWhole } from "./props.js";

/** The receiver's response, or the reason why there is none. */
export const ReceivedResponse = ({ view, attempt }: { view: View; attempt: AttemptWhole }) => {
  const { response, error, n } = attempt;
  const all = href(view.state, { full: "true" }, "response");
  return (
    <Piece id="response" data={[n, response, error]} labelledby="h-response">
      <div class="head">
        <h3 id="h-response">Your receiver's response</h3>
        {response && (
          <span class="note">
            HTTP {response.status} in {durationText(response.ms)}, {amount(response.body.bytes)}{" "}
            bytes
          </span>
        )}
        <Assumed id="A-10" />
      </div>
      {error && (
        <p class="verdict bad-tint">
          <Icon of="bad" class="bad" />
          <span>
            <b>{upperFirst(resultWords({ error: error.kind }))}.</b> <Linked text={error.text} />
          </span>
        </p>
      )}
      {response && response.status >= 300 && response.status < 400 && (
        <p class="sub">
          <Linked text="Redirects are not followed (A-10)." />
        </p>
      )}
      {response && (
        <>
          <HeaderTable headers={response.headers} label="Headers of the response" />
          <Bytes body={response.body} label="Body of the response" all={all} />
        </>
      )}
    </Piece>
  );
};

/** The exact request of an attempt. */
export const Request = ({ view, delivery, attempt }: AttemptProps) => {
  if (!attempt) return null;
  const { request, n, tamper } = attempt;
  const all = href(view.state, { full: "true" }, "request");
  return (
    <Piece id="request" data={[n, request]} labelledby="h-request">
      <div class="head">
        <h3 id="h-request">Request that was sent</h3>
        <span class="note">
          POST <Text of={shortUrl(request.url)} />, {amount(request.body.bytes)} bytes
          {tamper === undefined && delivery.attempts.length > 1 && ", the same on every attempt"}
        </span>
        <Assumed id="A-07" />
      </div>
      <HeaderTable headers={request.headers} label="Headers of the request" />
      <Bytes body={request.body} label="Body of the request" all={all} />
      {request.body.sha256 !== undefined && (
        <p class="sub">
          SHA-256 <code>{request.body.sha256}</code>
        </p>
      )}
    </Piece>
  );
};
