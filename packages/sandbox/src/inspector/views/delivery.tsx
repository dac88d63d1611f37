import { attemptDetail, sendDetail, type deliveryDetail } from "../../control/queries.js";
import { href } from "../page-state.js";
import { nowOf, type View } from "../view.js";
import { visibleText } from "../visible.js";
import {
  amount,
  durationText,
  resultWords,
  shortUrl,
  tamperTexts,
  triggerWords,
} from "../words.js";
import { Action, allTyped, isRefused, typed } from "./action.js";
import { Bytes, HeaderTable } from "./bytes.js";
import { Assumed, Icon, Key, Linked, Scroll, Text, Time } from "./elements.js";
import { Piece } from "./piece.js";
import { Mail } from "./send.js";
import { Signature } from "./signature.js";
import { Countdown, type Attempt } from "./track.js";
import { Id, Ids, stepsOf, Trail } from "./trail.js";

export type DeliveryWhole = ReturnType<typeof deliveryDetail>;
export type AttemptWhole = Awaited<ReturnType<typeof attemptDetail>>;

interface DeliveryProps {
  readonly view: View;
  readonly delivery: DeliveryWhole;
}

/** An event on its way to one endpoint, and one of its attempts. */
export const DeliveryDetail = async ({ view, delivery }: DeliveryProps) => {
  const { service, state } = view;
  const full = state.full === "true";
  const wanted = Number(state.attempt ?? delivery.attempts.length);
  const n = wanted <= delivery.attempts.length ? wanted : delivery.attempts.length;
  const attempt = n > 0 ? await attemptDetail(service, delivery.id, String(n), full) : undefined;
  const send =
    delivery.send_id !== undefined && service.state.sends.get(delivery.send_id)
      ? sendDetail(service, delivery.send_id, full)
      : undefined;
  return (
    <>
      <About view={view} delivery={delivery} />
      <Actions view={view} delivery={delivery} attempt={attempt} />
      <Attempts view={view} delivery={delivery} current={n} />
      {attempt && (
        <>
          <Signature view={view} delivery={delivery} attempt={attempt} />
          <Answer view={view} attempt={attempt} />
          <Request view={view} delivery={delivery} attempt={attempt} />
        </>
      )}
      {send && (
        <details id="mail-of-delivery" class="fold">
          <summary>
            Email: <Text of={send.subject} />
          </summary>
          <Mail view={view} send={send} />
        </details>
      )}
    </>
  );
};

interface AttemptProps extends DeliveryProps {
  readonly attempt: AttemptWhole | undefined;
}

const About = ({ view, delivery }: DeliveryProps) => {
  const { type, url, next, state } = delivery;
  const about = [delivery.attempts.length, state, next, delivery.delivery_id];
  return (
    <Piece id="about" class="about" data={about}>
      <Trail
        view={view}
        steps={[
          ...stepsOf(view, delivery.call_id, delivery.send_id),
          { id: delivery.source_event_id, text: type },
          { text: delivery.edited ? "delivery, edited" : "delivery" },
        ]}
      />
      <h2 id="h-detail">
        <Text of={type} />{" "}
        <span class="to">
          to <Text of={shortUrl(url)} />
        </span>
      </h2>
      <p class="vh" data-announce>
        {visibleText(announcement(delivery))}
      </p>
      <Ids>
        <Id of={delivery.delivery_id} name="Delivery" />
        <Id of={delivery.event_id} name="Event" />
        <Id of={delivery.subscription_id} name="Subscription" />
      </Ids>
      {next && (
        <div class="next">
          <Icon of="wait" class="wait" />
          <p>
            <b>
              Attempt {next.n} of {next.of} starts in <Countdown view={view} at={next.at} />
            </b>
            <br />
            <span class="sub">
              at <Time at={next.at} /> <Assumed id="A-09" />
            </span>
          </p>
          <div class="btns">
            <Action view={view} name="run-now" with={{ id: delivery.id }}>
              <button class="main" data-key="n">
                Run now <Key of="n" />
              </button>
            </Action>
            <Action view={view} name="skip" with={{ id: delivery.id }}>
              <button>Skip</button>
            </Action>
          </div>
          <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
            <rect class="rest" width="100" height="4" />
            <rect
              class="done"
              width={String(progress(view, delivery))}
              height="4"
              data-from={Date.parse(delivery.attempts.at(-1)?.started_at ?? delivery.created_at)}
              data-to={Date.parse(next.at)}
            />
          </svg>
        </div>
      )}
      {state === "attempting" && (
        <p class="verdict none">
          <Icon of="half" />
          <span>An attempt is being sent.</span>
        </p>
      )}
    </Piece>
  );
};

function progress(view: View, { attempts, created_at: created, next }: DeliveryWhole): number {
  const from = Date.parse(attempts.at(-1)?.started_at ?? created);
  const to = Date.parse(next?.at ?? created);
  return to <= from
    ? 100
    : Math.min(100, Math.max(0, Math.round(((nowOf(view) - from) / (to - from)) * 100)));
}

/** What a screen reader reports when it changes. */
function announcement({ type, attempts, state, next }: DeliveryWhole): string {
  const last = attempts.at(-1);
  if (!last) return `${type}: no attempt has been made.`;
  const what = `${type}, attempt ${last.n} ${last.ok ? "succeeded" : "failed"}: ${resultWords(last)}.`;
  if (state === "attempting") return `${what} Another attempt is being sent.`;
  return next ? `${what} The next attempt is at ${next.at.slice(11, 19)}.` : what;
}

const Actions = ({ view, delivery, attempt }: AttemptProps) => {
  const { id } = delivery;
  const edit = { id, place: "edit" };
  const copies = { id, place: "copies" };
  const tamper = { id, place: "tamper" };
  const tampers = Object.entries(tamperTexts);
  const text = delivery.body.text;
  const isWhole = text !== undefined && !delivery.body.truncated;
  return (
    <section id="actions" class="acts" aria-label="Actions" data-rev={`${id} ${attempt?.n ?? 0}`}>
      <Action view={view} name="redeliver" with={{ id }}>
        <button data-key="r">
          Redeliver <Key of="r" />
        </button>
      </Action>
      <details id="edit" class="wide" open={isRefused(view, "send", edit)}>
        <summary data-key="e">
          Edit and send… <Key of="e" />
        </summary>
        {isWhole ? (
          <Action view={view} name="send" with={edit} class="fields" label="Edit and send">
            <label>
              Body, signed again as a delivery of its own
              <textarea name="body" rows={8} spellcheck={false} required>
                {/* Parsers remove a first line break. */}
                {`\n${typed(view, "send", edit, "body", text)}`}
              </textarea>
            </label>
            <button>Send the edited body</button>
          </Action>
        ) : (
          <p class="sub">
            {text === undefined
              ? "The body is not text."
              : "The body is too long to be edited here."}{" "}
            <code>POST /_sandbox/deliveries/{id}/send</code> takes any bytes.
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
              name="at_once"
              value="on"
              checked={allTyped(view, "send", copies, "at_once", ["on"]).length > 0}
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
            What to spoil{" "}
            <select name="tamper">
              {tampers.map(([value, words]) => (
                <option value={value} selected={value === typed(view, "send", tamper, "tamper")}>
                  {words}
                </option>
              ))}
            </select>
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

/** Attempts that one page of the table has. */
const perPage = 50;

interface AttemptsProps extends DeliveryProps {
  readonly current: number;
}

const Attempts = ({ view, delivery, current }: AttemptsProps) => {
  const { attempts, next, state } = delivery;
  const newest = Math.max(1, attempts.length - perPage + 1);
  const from = Math.min(Number(view.state.from ?? newest), Math.max(1, attempts.length));
  const shown = attempts.slice(from - 1, from - 1 + perPage);
  const rest = attempts.length - (from - 1 + shown.length);
  return (
    <Piece id="attempts" data={[attempts, next, state, from, current]} labelledby="h-attempts">
      <div class="head">
        <h3 id="h-attempts">Attempts</h3>
        {from > 1 && (
          <a href={href(view.state, { from: String(Math.max(1, from - perPage)) }, "attempts")}>
            {amount(from - 1)} earlier
          </a>
        )}
        {rest > 0 && (
          <a href={href(view.state, { from: String(from + perPage) }, "attempts")}>
            {amount(rest)} later
          </a>
        )}
      </div>
      <Scroll label="Attempts, table">
        <table class="att">
          <thead>
            <tr>
              <th scope="col">No.</th>
              <th scope="col">Started</th>
              <th scope="col" class="opt">
                Trigger
              </th>
              <th scope="col">Your receiver's response</th>
              <th scope="col" class="num">
                Took
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((attempt) => (
              <AttemptRow view={view} id={delivery.id} attempt={attempt} current={current} />
            ))}
            {rest === 0 && (next || state === "attempting") && (
              <tr>
                <td>{attempts.length + 1}</td>
                <td>{next ? <Time at={next.at} /> : "now"}</td>
                <td class="opt">{next ? "scheduled" : ""}</td>
                <td class="wait">
                  <Icon of={next ? "wait" : "half"} />{" "}
                  {next ? (
                    <>
                      waiting, in <Countdown view={view} at={next.at} />
                    </>
                  ) : (
                    "sending"
                  )}
                </td>
                <td class="num quiet">–</td>
              </tr>
            )}
          </tbody>
        </table>
      </Scroll>
    </Piece>
  );
};

interface AttemptRowProps {
  readonly view: View;
  readonly id: string;
  readonly attempt: Attempt;
  readonly current: number;
}

const AttemptRow = ({ view, id, attempt, current }: AttemptRowProps) => {
  const isCurrent = attempt.n === current;
  return (
    <tr class={isCurrent ? "sel" : undefined}>
      <td>
        <a
          href={href(
            view.state,
            { item: id, attempt: String(attempt.n), full: undefined },
            "detail",
          )}
          aria-current={isCurrent ? "true" : undefined}
          aria-label={`Attempt ${attempt.n}`}
        >
          {attempt.n}
        </a>
      </td>
      <td>
        <Time at={attempt.started_at} />
      </td>
      <td class="opt">{triggerWords[attempt.trigger]}</td>
      <td class={attempt.ok ? "ans ok" : "ans bad"}>
        <Icon of={attempt.ok ? "ok" : "bad"} /> <Text of={resultWords(attempt)} />
        {attempt.fault_id !== undefined && (
          <span class="quiet">
            {" "}
            <Icon of="flag" class="wait" /> by a fault
          </span>
        )}
        {attempt.tamper !== undefined && <span class="quiet"> {tamperTexts[attempt.tamper]}</span>}
      </td>
      <td class="num">{durationText(attempt.ms)}</td>
    </tr>
  );
};

const Answer = ({ view, attempt }: { view: View; attempt: AttemptWhole }) => {
  const { answer, error, n } = attempt;
  const all = href(view.state, { full: "true" }, "answer");
  return (
    <Piece id="answer" data={[n, answer, error]} labelledby="h-answer">
      <div class="head">
        <h3 id="h-answer">Your receiver's response</h3>
        {answer && (
          <span class="note">
            HTTP {answer.status} in {durationText(answer.ms)}, {amount(answer.body.bytes)} bytes
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
      {answer && answer.status >= 300 && answer.status < 400 && (
        <p class="sub">
          <Linked text="Redirects are not followed (A-10)." />
        </p>
      )}
      {answer && (
        <>
          <HeaderTable headers={answer.headers} label="Headers of the response" />
          <Bytes body={answer.body} label="Body of the response" all={all} />
        </>
      )}
    </Piece>
  );
};

const upperFirst = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const Request = ({ view, delivery, attempt }: AttemptProps) => {
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
