import { gate } from "@svc-webhooks/kit/gate";
import { closeLater, releaseUnused } from "../src/claim/close.js";
import { requestClose, type Claim } from "../src/claim/store-call.js";
import { codeOf } from "../src/errors.js";
import type { ClaimResult, DeliveryContext, MaybePromise, OutcomeCode } from "../src/index.js";
import { DeadlineError, LazySignal, pause } from "../src/lib/deadline.js";
import { isPromise } from "../src/lib/maybe-promise.js";
import { InvalidEvent } from "../src/pipeline/handle.js";
import { surround } from "../src/pipeline/surround.js";
import { resolveOptions } from "../src/setup/config.js";
import type { User } from "./driver-user.js";

/**
 * Describes with `async` functions what a receiver does with one delivery. The functions that it shares with the
 * receiver have tests of their own: the secret's reader, `around`, and the retries that outlive the delivery.
 */
export function modelOf({ options, delivery, callOptions: { waitUntil = () => {} } }: User) {
  const config = resolveOptions(options);
  const { around, clock, events, leaseMs, on, store, storeTimeouts } = config;
  const claim = { key: "", request: {}, leaseEndsAt: 0, held: false } as Claim;
  const controller = new AbortController();
  const context = { signal: controller.signal } as DeliveryContext;
  const pending: Promise<unknown>[] = [];
  const response = gate<{ readonly code: OutcomeCode }>();
  const run = gate();
  let phase = "answered";
  let lease: Promise<void> | undefined;
  let isClosed = false;

  async function receive(): Promise<OutcomeCode> {
    try {
      await within(config.bodyTimeoutMs, delivery.body);
    } catch (error) {
      return error instanceof DeadlineError ? "body_timeout" : "body_unavailable";
    }
    try {
      await config.secret.read();
    } catch {
      return "misconfigured";
    }
    pending.push(response.opened);
    claim.leaseEndsAt = clock.monotonic() + leaseMs;
    let result: ClaimResult;
    try {
      result = await within(storeTimeouts.claim, (call) => store.claim("", claim.request, call));
    } catch (error) {
      waitUntil(releaseUnused(config, claim, error));
      return "store_unavailable";
    }
    if (result.status === "done") return "duplicate";
    claim.held = true;
    return handle().then(() => close("processed"), fail);
  }

  async function handle(): Promise<void> {
    const validated = events.get("email.sent")?.["~standard"].validate({});
    if ((await whilePending(validated))?.issues) throw new InvalidEvent();
    const start = () => {
      if (!claim.held) throw new Error("the lease ended before the handler started");
      return on.prefixes.get("")?.({}, context);
    };
    await whilePending(around ? surround(start, (begin) => around(begin, context)) : start());
  }

  async function fail(error: unknown): Promise<OutcomeCode> {
    outliveResponse();
    if (error instanceof InvalidEvent) return close("event_invalid");
    try {
      if (codeOf(error) !== "permanent_error") throw error;
      await whilePending(config.onParked(error, context, false));
    } catch (problem) {
      config.onHandlerError?.(problem, context);
      return close("handler_failed");
    }
    return close("parked");
  }

  async function close(code: OutcomeCode): Promise<OutcomeCode> {
    const to = code === "processed" ? undefined : code === "parked" ? "parked" : "failed";
    isClosed = true;
    claim.held = false;
    try {
      await within(to ? storeTimeouts.release : storeTimeouts.complete, (call) => {
        const result = requestClose(config, claim, to, call);
        if (isPromise(result)) outliveResponse();
        return result;
      });
    } catch (error) {
      if (!to && codeOf(error) === "handler_failed") return fail(error);
      config.onInternalError(error);
      track(closeLater(config, claim, to, error));
    }
    return code;
  }

  function whilePending<T>(work: MaybePromise<T>): MaybePromise<T> {
    if (isPromise(work)) lease ??= keepLease();
    return work;
  }

  async function respondInTime(): Promise<void> {
    await pause(clock, config.handlerTimeoutMs);
    if (isClosed) return;
    controller.abort(new Error("handler_timeout"));
    report("handler_timeout");
  }

  /** Extends the lease every third of it until `maxRunMs`. */
  async function keepLease(): Promise<void> {
    outliveResponse();
    void respondInTime();
    const claimedAt = claim.leaseEndsAt - leaseMs;
    for (let runMs = leaseMs / 3; runMs <= config.maxRunMs; runMs += leaseMs / 3) {
      await pause(clock, claimedAt + runMs - clock.monotonic());
      if (isClosed) return;
      const extend = (call: LazySignal) => store.extend("", claim.request, call);
      const result = await within(storeTimeouts.extend, extend).catch(config.onInternalError);
      if (result !== false) continue;
      if (claim.held) controller.abort(new Error("lease_lost"));
      claim.held = false;
      return;
    }
  }

  function within<T>(ms: number, work: (call: LazySignal) => MaybePromise<T>): Promise<T> {
    const result = (async () => work(new LazySignal()))();
    const late = pause(clock, ms).then(() => Promise.reject(new DeadlineError("", ms, result)));
    return Promise.race([result, late]);
  }

  /** Makes `drain` and the platform wait for the run, which may outlive its response. */
  const outliveResponse = () => pending.includes(run.opened) || track(run.opened);
  const track = (work: Promise<unknown>) => {
    pending.push(work);
    waitUntil(work);
  };
  const report = (code: OutcomeCode) => {
    config.observe?.({ phase, code } as never);
    phase = "settled";
    response.open({ code });
  };

  const ending = receive().catch(() => "internal_error" as const);
  void ending.then(report).then(run.open);
  const drain = async () => {
    for (const work of pending) await work;
    return 0;
  };
  return { outcome: response.opened, drain };
}
