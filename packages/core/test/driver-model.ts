import { closeLater, releaseUnused } from "../src/claim/close.js";
import { recordKey } from "../src/claim/record-key.js";
import { codeOf } from "../src/errors.js";
import { DeadlineError } from "../src/lib/deadline.js";
import { isPromise } from "../src/lib/maybe-promise.js";
import { surround } from "../src/pipeline/surround.js";
import type { Config } from "../src/setup/config.js";
import type { FakeClock } from "@svc-webhooks/testing";
import type { TestDelivery } from "@svc-webhooks/kit/deliveries";
import {
  PermanentError,
  type ClaimRequest,
  type ClaimResult,
  type DeadlineCall,
  type DeliveryContext,
  type MaybePromise,
  type OutcomeCode,
  type RetryError,
  type Secrets,
  type Warning,
} from "../src/index.js";
import { statuses } from "../src/outcome.js";
import type { Inspection } from "../src/scheme.js";
import type { DriverCase } from "./driver-case.js";
import { mostRuns, timesOf, type User } from "./driver-user.js";

interface Ending {
  readonly code: OutcomeCode;
  readonly retryAfterMs?: unknown;
}

/** Thrown to end a delivery other than by its handler. */
class Ended extends Error {
  readonly ending: Ending;

  constructor(code: OutcomeCode, retryAfterMs?: number, message?: string) {
    super(message);
    this.ending = { code, retryAfterMs };
  }
}

/** Describes with `async` functions what a receiver does with one delivery. */
export class Model {
  outcome: object | undefined;
  /** The parts of the delivery for which `drain` waits. */
  readonly pending = new Set<unknown>();
  readonly #facts: Record<string, unknown> & { readonly warnings: Warning[] };
  readonly #signal = new AbortController();
  readonly #case: DriverCase;
  readonly #user: User;
  readonly #clock: FakeClock;
  readonly #delivery: TestDelivery;
  readonly #config: Config;
  #reply: object | undefined;
  #claim!: {
    readonly key: string;
    readonly request: ClaimRequest;
    leaseEndsAt: number;
    held: boolean;
  };
  #endRun: (() => void) | undefined;
  #stopLease: (() => void) | undefined;
  #timeoutAt = Infinity;

  constructor(given: DriverCase, user: User, clock: FakeClock, delivery: TestDelivery) {
    this.#case = given;
    this.#user = user;
    this.#clock = clock;
    this.#delivery = delivery;
    this.#facts = { receivedAt: clock.now(), warnings: [] };
    const storeTimeouts = { claim: 1_500, extend: 1_500, release: 1_500, complete: 2_000 };
    const { leaseMs } = timesOf(given);
    // The retries that outlive a delivery have tests of their own.
    this.#config = { clock, leaseMs, store: user.store, storeTimeouts } as unknown as Config;
  }

  async receive(): Promise<void> {
    try {
      if (!this.#case.resume) await this.#verify();
      else this.#facts["bodyBytes"] = this.#delivery.body.length;
      if (!this.#case.scheme) this.#facts["deliveryId"] = "dlv_1";
      this.pending.add("response");
      if (this.#facts["secretId"] === "old") this.#warn("old_secret");
      await this.#decode();
      await this.#requestClaim();
      this.#finish(await this.#run());
    } catch (error) {
      this.#finish(error instanceof Ended ? error.ending : { code: "internal_error" });
    }
  }

  async #verify(): Promise<void> {
    const { body, secret, scheme } = this.#user;
    const inspection = await (scheme?.inspect(() => "", 0) as MaybePromise<Inspection<unknown>>);
    if (inspection?.problem) throw new Ended(inspection.problem);
    try {
      const read = (call: DeadlineCall) => (this.#case.body ? body(0, call) : this.#delivery.body);
      this.#facts["bodyBytes"] = (await this.#within(10_000, "body", read)).length;
    } catch (error) {
      if (error instanceof DeadlineError) throw new Ended("body_timeout");
      throw new Ended(codeOf(error) === "aborted" ? "aborted" : "body_unavailable");
    }
    let secrets: Secrets = "whsec_test";
    try {
      if (this.#case.secret) secrets = await this.#within(1_500, "secret", secret);
    } catch {
      throw new Ended("misconfigured");
    }
    const keys = Array.isArray(secrets) ? secrets : [{ id: "default", key: secrets }];
    let match: string | undefined;
    for (const { id, key } of keys) {
      const imported = await scheme?.importKey(new Uint8Array(), () => undefined as never);
      // Every key is tried, even after a match.
      const ok = imported ? await imported.verify(new Uint8Array(), "") : key === "whsec_test";
      if (ok) match ??= id;
    }
    if (match === undefined) throw new Ended("signature_mismatch");
    this.#facts["secretId"] = match;
  }

  async #decode(): Promise<void> {
    const { scheme } = this.#user;
    if (scheme) {
      const claim = this.#case.resume ? undefined : "claim";
      const found = await scheme.identify({ claim } as never);
      this.#reply = found.reply;
      if (found.code) throw new Ended(found.code);
      const deliveryId = await (found.deliveryId as MaybePromise<string | undefined>);
      if (!deliveryId) throw new Ended("delivery_id_missing");
      this.#facts["deliveryId"] = deliveryId;
    }
    this.#facts["type"] = "email.sent";
  }

  async #requestClaim(): Promise<void> {
    const { resume, dedupeBy } = this.#case;
    this.#facts["eventIdSigned"] = false;
    const { key, lineage } = await recordKey(
      { name: "test", dedupeBy },
      {
        deliveryId: String(this.#facts["deliveryId"]),
        type: "email.sent",
        eventId: undefined,
        bytes: this.#delivery.body,
      },
    );
    const { leaseMs } = timesOf(this.#case);
    const request = { token: "model", leaseMs, retainMs: 604_800_000, lineage };
    const leaseEndsAt = this.#clock.monotonic() + leaseMs;
    this.#claim = { key, request, leaseEndsAt, held: false };
    if (resume?.key === "other") {
      this.#failed(new PermanentError(otherKey));
      throw new Ended("misconfigured");
    }
    let result: ClaimResult;
    try {
      const asked = resume ? { ...request, takeParked: true } : request;
      const { store } = this.#user;
      result = await this.#within(1_500, "store.claim", (call) => store.claim(key, asked, call));
    } catch (error) {
      return this.#unclaimed(error);
    }
    this.#decide(result);
  }

  #unclaimed(error: unknown): void {
    if (this.#case.onStoreError === "process") {
      this.#facts["dedupe"] = "unverified";
      return;
    }
    // The store may have granted a claim whose result was lost, unless it was never sent.
    if (codeOf(error) !== "not_sent") {
      this.#keepAlive(releaseUnused(this.#config, this.#claim, error));
    }
    throw new Ended("store_unavailable");
  }

  #decide(result: ClaimResult): void {
    switch (result?.status) {
      case "claimed": {
        const { run, fence, takenOver, evictedEarly } = result;
        this.#claim.held = true;
        Object.assign(this.#facts, { dedupe: "verified", run, fence });
        if (takenOver) this.#warn("taken_over");
        if (evictedEarly) this.#warn("evicted_early");
        return;
      }
      case "busy":
        throw new Ended("in_flight", result.leaseLeftMs);
      case "done":
      case "parked":
        if (result.lineage !== this.#claim.request.lineage) this.#warn("other_delivery_id");
        throw new Ended(result.status === "done" ? "duplicate" : "parked");
      default:
        this.#unclaimed("not a ClaimResult");
    }
  }

  async #run(): Promise<Ending> {
    const { resume, handlerTimeoutMs } = this.#case;
    if (!resume) this.#timeoutAt = this.#clock.monotonic() + handlerTimeoutMs;
    try {
      const result = await this.#handle();
      if ((result as Partial<Iterator<unknown>> | undefined)?.next) throw new Error(notRun);
    } catch (error) {
      return this.#fail(error);
    }
    return this.#close({ code: "processed" });
  }

  async #handle(): Promise<unknown> {
    const { resume, schema } = this.#case;
    const { validate, around } = this.#user;
    if (Number(this.#facts["run"] ?? 0) > (mostRuns(this.#case) ?? Infinity)) {
      throw new PermanentError("given up after 2 runs");
    }
    if (resume?.giveUp) throw new PermanentError(resume.giveUp);
    let event: unknown = { type: "email.sent" };
    if (schema) {
      const result = await this.#pendingCode(validate(event));
      if (result.issues) throw new Ended("event_invalid", undefined, "type: wrong");
      event = result.value;
    }
    const call = () => {
      this.#checkLease();
      const mayStart = this.#claim.held || this.#facts["dedupe"] === "unverified";
      if (!mayStart) throw new Error("the lease ended before the handler started");
      return this.#user.handler(event, this.#context());
    };
    return this.#pendingCode(
      around ? surround(call, (run) => around(run, this.#context())) : call(),
    );
  }

  /** The error of a run is passed to the hooks, and decides how the claim is released. */
  async #fail(error: unknown): Promise<Ending> {
    const { onParked, onHandlerError } = this.#user;
    const code = codeOf(error);
    this.#beginRun();
    this.#failed(error);
    if (error instanceof Ended) return this.#close(error.ending);
    let problem = error;
    if (code === "permanent_error") {
      try {
        if (onParked) await this.#pendingCode(async () => onParked.call(error, this.#context()));
        else this.#hook(() => onHandlerError(error));
        return await this.#close({ code: "parked" });
      } catch (failure) {
        this.#failed((problem = failure));
      }
    }
    this.#hook(() => onHandlerError(problem));
    const retryAfterMs = code === "retry_error" ? (error as RetryError).retryAfterMs : undefined;
    return this.#close({ code: "handler_failed", retryAfterMs });
  }

  async #close(ending: Ending): Promise<Ending> {
    const { store } = this.#user;
    const { key, request } = this.#claim;
    this.#stopLease?.();
    this.#checkLease();
    this.#claim.held = false;
    const parks = ending.code === "parked" || this.#case.resume?.isLast;
    const to = ending.code === "processed" ? undefined : parks ? "parked" : "failed";
    const operation = to ? "release" : "complete";
    try {
      await this.#within(to ? 1_500 : 2_000, `store.${operation}`, (call) => {
        const result = to
          ? store.release(key, { ...request, to }, call)
          : store.complete(key, request, call);
        // The claim must be closed even if the client disconnects meanwhile.
        if (isPromise<unknown>(result)) this.#beginRun();
        return result;
      });
    } catch (error) {
      if (!to && codeOf(error) === "handler_failed") return this.#fail(error);
      if (!to) this.#warn("complete_failed");
      this.#user.onInternalError(error);
      const retries = closeLater(this.#config, this.#claim, to, error);
      this.#track(retries);
      this.#keepAlive(retries);
    }
    return ending;
  }

  /** While the user's code is pending, the run outlives its response and its lease is kept. */
  async #pendingCode<T>(work: MaybePromise<T> | (() => Promise<T>)): Promise<T> {
    const result = typeof work === "function" ? (work as () => Promise<T>)() : work;
    if (isPromise(result)) {
      this.#beginRun();
      if (!this.#stopLease) this.#keepLease();
    }
    return result;
  }

  /** Renews the lease every third of it, and ends the response at the handler's timeout. */
  #keepLease(): void {
    const { key, request } = this.#claim;
    const { leaseMs, maxRunMs } = timesOf(this.#case);
    const startedAt = this.#claim.leaseEndsAt - leaseMs;
    const cancels: (() => void)[] = [];
    this.#stopLease = () => {
      for (const cancel of cancels) cancel();
    };
    const at = (time: number, run: () => void) => {
      const delayMs = Math.max(time - this.#clock.monotonic(), 1);
      if (time < Infinity) cancels.push(this.#clock.after(delayMs, run));
    };
    // If the event loop was blocked, all three may be overdue. They are then handled in this order.
    if (this.#claim.held) at(this.#claim.leaseEndsAt, () => this.#checkLease());
    at(this.#timeoutAt, () => {
      this.#signal.abort({ code: "handler_timeout" });
      this.#answer({ code: "handler_timeout" });
    });
    let renews = this.#claim.held;
    const renewAt = (time: number) =>
      at(time, () => {
        if (!renews) return;
        const sentAt = this.#clock.monotonic();
        const isLast = sentAt - startedAt + leaseMs / 3 > maxRunMs;
        if (isLast) this.#warn("long_run");
        else renewAt(sentAt + leaseMs / 3);
        void renew(sentAt);
      });
    const renew = async (sentAt: number) => {
      try {
        const { store } = this.#user;
        renews &&= await this.#within(1_500, "store.extend", (call) =>
          store.extend(key, request, call),
        );
        if (!renews) return this.#loseLease();
        this.#claim.leaseEndsAt = sentAt + leaseMs;
        at(this.#claim.leaseEndsAt, () => this.#checkLease());
      } catch (error) {
        this.#user.onInternalError(error);
      }
    };
    if (renews) renewAt(startedAt + leaseMs / 3);
  }

  #checkLease(): void {
    if (this.#clock.monotonic() >= this.#claim.leaseEndsAt) this.#loseLease();
  }

  #loseLease(): void {
    if (!this.#claim.held) return;
    this.#claim.held = false;
    this.#warn("lease_lost");
    this.#signal.abort({ code: "lease_lost" });
  }

  #warn(warning: Warning): void {
    const { warnings } = this.#facts;
    if (!warnings.includes(warning)) warnings.push(warning);
  }

  #hook(call: () => unknown): void {
    try {
      call();
    } catch (error) {
      this.#user.onInternalError(error);
    }
  }

  #failed(error: unknown): void {
    this.#hook(() => this.#user.onError?.(error));
  }

  #keepAlive(work: Promise<unknown>): void {
    this.#hook(() => this.#user.waitUntil?.(work));
  }

  #track(work: Promise<unknown>): void {
    this.pending.add(work);
    void work.then(() => this.pending.delete(work));
  }

  /** The run may outlive the response, so `drain` and the platform wait for it. */
  #beginRun(): void {
    if (this.#endRun) return;
    const run = new Promise<void>((resolve) => (this.#endRun = resolve));
    this.#track(run);
    this.#keepAlive(run);
  }

  #context(): DeliveryContext {
    const { signal } = this.#signal;
    return { ...this.#facts, idempotencyKey: this.#claim.key, signal } as never;
  }

  #answer(ending: Ending): void {
    this.outcome = this.#report("answered", ending);
    this.pending.delete("response");
  }

  #finish(ending: Ending): void {
    if (this.outcome) this.#report("settled", ending);
    else this.#answer(ending);
    this.#endRun?.();
  }

  #report(phase: string, { code, retryAfterMs }: Ending): object {
    const status = statuses[code];
    const outcome = {
      ...this.#facts,
      warnings: [...this.#facts.warnings],
      code,
      status,
      ...(status === 200 && this.#reply && { reply: this.#reply }),
      retryAfterMs: retryAfterMs ?? (status === 503 ? 5_000 : undefined),
    };
    this.#hook(() => this.#user.observe?.({ phase, receiver: "test", ...outcome } as never));
    return outcome;
  }

  /** Rejects when the deadline has passed. */
  async #within<T>(
    ms: number,
    name: string,
    work: (call: DeadlineCall) => MaybePromise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    const call: DeadlineCall = { signal: controller.signal, unsent: undefined };
    const result = work(call);
    if (!isPromise(result)) return result;
    const pending = Promise.resolve(result);
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(ms, () => {
        controller.abort();
        reject(call.unsent ?? new DeadlineError(name, ms, pending));
      });
      void pending.finally(cancel).then(resolve, reject);
    });
  }
}

const otherKey =
  "stored by a receiver of another name or dedupeBy: give both the same `name` and `dedupeBy`";
const notRun = "A handler must not return an iterator, as generators do.";
