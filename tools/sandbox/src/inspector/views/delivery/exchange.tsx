import { outcomeText } from "@svc-webhooks/core/outcomes";
import { href } from "../../page-state.js";
import {
  amount,
  durationText,
  isUnhandled,
  resultWords,
  shortUrl,
  upperFirst,
} from "../../words.js";
import { Message } from "../parts/bytes.js";
import { Icon, Linked, Sentence, Text, Verdict } from "../parts/elements.js";
import { Part } from "../parts/piece.js";
import type { AttemptProps } from "./props.js";

const routeOf = ({ delivery_id: id, n }: AttemptProps["attempt"]) =>
  `deliveries/${id}/attempts/${n}`;

/** States in one sentence why the receiver did not process an attempt. Renders nothing if it did. */
export const NotProcessed = ({ attempt }: Pick<AttemptProps, "attempt">) => {
  const { n, ok, status, code, tamper, error } = attempt;
  if (ok && !isUnhandled({ code })) return null;
  const result = resultWords({ status, code, error: error?.kind });
  const about = tamper === undefined ? `attempt ${n}` : `the tampered attempt ${n}`;
  const look = ok || tamper !== undefined ? "none" : "bad";
  const text = error
    ? `No valid response to ${about} arrived: ${result}.`
    : attempt.fault_id !== undefined && !ok
      ? `${upperFirst(about)} was not accepted: ${result}.`
      : ok
        ? `Your receiver accepted ${about} without processing it: ${result}.`
        : `Your receiver did not accept ${about}: ${result}.`;
  return (
    <p class={`refusal ${look}`}>
      <Icon of={look} />{" "}
      <b>
        <Text of={text} />
      </b>
    </p>
  );
};

/** The receiver's response, or the reason why there is none. */
export const ReceivedResponse = ({ view, attempt }: Omit<AttemptProps, "delivery">) => {
  const { response, error, n } = attempt;
  const known = outcomeText(attempt.code ?? "");
  const note =
    response &&
    `HTTP ${response.status} in ${durationText(response.ms)}, ${amount(response.body.bytes)} bytes`;
  return (
    <Part
      id="response"
      data={[n, response, error]}
      title="Your receiver's response"
      note={note}
      assumed="A-10"
    >
      {error && (
        <Verdict of="bad">
          <b>{upperFirst(resultWords({ error: error.kind }))}.</b> <Linked text={error.text} />
        </Verdict>
      )}
      {known && attempt.code !== "processed" && (
        <Verdict of={attempt.ok ? "none" : "bad"}>
          <b>{known.happened}</b> <Sentence of={`${known.cause} ${known.fix}`} />
        </Verdict>
      )}
      {response && response.status >= 300 && response.status < 400 && (
        <p class="sub">
          <Linked text="Redirects are not followed (A-10)." />
        </p>
      )}
      {response && (
        <Message
          of="response"
          {...response}
          all={href(view.state, { full: "true" }, "response")}
          from={routeOf(attempt)}
        />
      )}
    </Part>
  );
};

/** The receiver's log lines about an attempt, which `svc-webhooks dev` sends to the sandbox. */
export const ReceiverLog = ({ attempt: { log, n } }: Pick<AttemptProps, "attempt">) =>
  log && (
    <Part id="log" data={[n, log]} title="Your receiver's log" note={amount(log.length)}>
      <pre class="body" tabindex={0} role="region" aria-label="Lines of your receiver's log">
        <Text of={log.join("\n")} lines />
      </pre>
    </Part>
  );

/** The exact request of an attempt. */
export const Request = ({ view, delivery, attempt }: AttemptProps) => {
  const { request, n, tamper, mutated } = attempt;
  const note = (
    <>
      POST <Text of={shortUrl(request.url)} />, {amount(request.body.bytes)} bytes
      {mutated
        ? ", changed by a fault and signed again"
        : tamper === undefined &&
          delivery.attempts.length > 1 &&
          ", the same on every untampered attempt"}
    </>
  );
  return (
    <Part id="request" data={[n, request]} title="Request that was sent" note={note} assumed="A-07">
      <Message
        of="request"
        {...request}
        all={href(view.state, { full: "true" }, "request")}
        from={routeOf(attempt)}
      />
      {request.body.sha256 !== undefined && (
        <p class="sub">
          SHA-256 <code>{request.body.sha256}</code>
        </p>
      )}
    </Part>
  );
};
