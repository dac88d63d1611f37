import type { z } from "zod";
import { conflict, invalid } from "../errors.js";
import { slotsLeft } from "../faults.js";
import { sharedAccount } from "../http/authenticate.js";
import { validate } from "../http/validate.js";
import { lastTime } from "../lib/iso.js";
import { find, findAttempt, findDelivery } from "../read/queries.js";
import { checkpointShape, clockShape, deliveryShape, faultShape } from "../read/shapes.js";
import { explainAttempt } from "../read/signature.js";
import { endVerification, verifyDomain } from "../service/domains.js";
import {
  archiveEndpoint,
  checkEndpoint,
  registerEndpoint,
  rotateSecret,
} from "../service/endpoints.js";
import { operationNames } from "../service/operations.js";
import { domainResource, endpointResource, secretResource } from "../service/resources.js";
import { endpointRequest } from "../service/schemas.js";
import type { Service } from "../service/service.js";
import type { AccountId, CallRecord } from "../state/records.js";
import type { Retention } from "../state/retention.js";
import type { CheckpointRecord } from "../state/table.js";
import { findCheckpoint, takeCheckpoint } from "./checkpoints.js";
import { sendManually, sendTestEmail } from "./manual-send.js";
import { recorded } from "./record-call.js";
import type { Recorder } from "./recorder.js";
import * as requests from "./requests.js";

/** The parts of the sandbox that actions use. */
export interface ControlContext {
  readonly service: Service;
  readonly saveClock: () => void;
  /** Resets the sandbox. Returns the new epoch of the stream of changes. */
  readonly reset: () => string;
  /** Restores the state of a checkpoint. */
  readonly rewind: (checkpoint: CheckpointRecord) => void;
  readonly recorder: Recorder;
  readonly assertRoom: Retention["assertRoom"];
}

interface ActionInput<Body> {
  /** The values of the route's parameters, by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly body: Body;
  /** Creates the call that represents the action in the timeline. */
  readonly call: (account: AccountId) => CallRecord;
}

interface Action<Schema extends z.ZodType = z.ZodType, Result = unknown> {
  /** The path below `/_sandbox/`. `:name` stands for one segment. */
  readonly route: string;
  readonly status: number;
  /** The schema of the request's body. If absent, the action ignores the body. */
  readonly schema?: Schema;
  /** Runs the action. Returns the response body or a promise of it, or undefined for a 204. @throws ApiError */
  readonly act: (context: ControlContext, input: ActionInput<z.output<Schema>>) => Result;
}

const action = <Result, Schema extends z.ZodType = z.ZodUndefined>(
  definition: Action<Schema, Result>,
) => definition;

/** The actions available to the page and to tests. Each has a JSON route and a form on the page. */
export const actions = {
  explain: action({
    route: "deliveries/:id/attempts/:n/explain",
    status: 200,
    schema: requests.explainRequest,
    act({ service }, { params, body }) {
      const { delivery, attempt } = findAttempt(service, params["id"], params["n"]);
      return explainAttempt(service, delivery, attempt, body.value);
    },
  }),
  "run-now": onDelivery("run-now", "runNow"),
  skip: onDelivery("skip", "skip"),
  redeliver: onDelivery("redeliver", "redeliver"),
  send: action({
    route: "deliveries/:id/send",
    status: 202,
    schema: requests.sendRequest,
    act({ service, assertRoom }, { params, body }) {
      if (body.body !== undefined) assertRoom();
      return service.state.transaction(() =>
        sendManually(service, findDelivery(service, params["id"]), body),
      );
    },
  }),
  "test-email": action({
    route: "test-email",
    status: 202,
    schema: requests.testEmailRequest,
    act({ service, assertRoom }, { body, call }) {
      assertRoom();
      return recorded(service, call(sharedAccount), 202, (record) =>
        sendTestEmail(service, sharedAccount, record, body),
      );
    },
  }),
  clock: action({
    route: "clock",
    status: 200,
    schema: requests.clockRequest,
    async act({ service, saveClock }, { body }) {
      const result = await changeClock(service, body);
      saveClock();
      return result;
    },
  }),
  "create-endpoint": action({
    route: "endpoints",
    status: 201,
    schema: endpointRequest,
    async act({ service }, { body }) {
      await checkEndpoint(service, body);
      return service.state.transaction(() =>
        secretResource(registerEndpoint(service, sharedAccount, body)),
      );
    },
  }),
  "rotate-secret": action({
    route: "endpoints/:id/rotate-secret",
    status: 200,
    act({ service }, { params }) {
      const endpoint = find(service.state.endpoints, params["id"], "endpoint");
      return service.state.transaction(() => {
        rotateSecret(service, endpoint);
        return secretResource(endpoint);
      });
    },
  }),
  archive: action({
    route: "endpoints/:id/archive",
    status: 200,
    act({ service }, { params }) {
      const endpoint = find(service.state.endpoints, params["id"], "endpoint");
      service.state.transaction(() => archiveEndpoint(service, endpoint));
      return service.ledger.get("delete") === 204 ? undefined : endpointResource(endpoint);
    },
  }),
  "verify-domain": action({
    route: "domains/:id/verify",
    status: 200,
    act({ service }, { params, call }) {
      const domain = find(service.state.domains, params["id"], "domain");
      return recorded(service, call(domain.account), 200, ({ id }) =>
        domainResource(verifyDomain(service, domain, id)),
      );
    },
  }),
  "force-domain": action({
    route: "domains/:id/force",
    status: 200,
    schema: requests.outcomeRequest,
    act({ service }, { params, body, call }) {
      const domain = find(service.state.domains, params["id"], "domain");
      return recorded(service, call(domain.account), 200, ({ id }) =>
        domainResource(endVerification(service, domain, body.outcome, id)),
      );
    },
  }),
  "add-fault": action({
    route: "faults",
    status: 201,
    schema: requests.faultRequest,
    act: ({ service }, { body }) =>
      service.state.transaction(() => faultShape(addFault(service, body))),
  }),
  "cancel-fault": action({
    route: "faults/:id/cancel",
    status: 200,
    act({ service }, { params }) {
      const fault = service.state.transaction(() => service.faults.cancel(params["id"] ?? ""));
      service.engine.release(fault);
      return faultShape(fault);
    },
  }),
  "set-assumption": action({
    route: "assumptions/:id",
    status: 200,
    schema: requests.assumptionRequest,
    act({ service: { state, ledger } }, { params, body }) {
      const { id, saved, select } = ledger.choose(params["id"] ?? "", body.value);
      state.transaction(() => state.settings.put({ id, value: saved }));
      return select();
    },
  }),
  checkpoint: action({
    route: "checkpoints",
    status: 201,
    schema: requests.checkpointRequest,
    act: ({ service }, { body }) =>
      service.clock.afterMoves(() =>
        service.state.transaction(() => checkpointShape(takeCheckpoint(service, body.name))),
      ),
  }),
  rewind: action({
    route: "checkpoints/:name/rewind",
    status: 200,
    act: ({ service, rewind, recorder }, { params }) =>
      service.clock.afterMoves(() => {
        const checkpoint = findCheckpoint(service, params["name"] ?? "");
        recorder.beforeRewind(checkpoint.id);
        rewind(checkpoint);
        return checkpointShape(checkpoint);
      }),
  }),
  "start-recording": action({
    route: "recording/start",
    status: 201,
    act({ recorder }) {
      recorder.start();
      return recorder.state();
    },
  }),
  "stop-recording": action({
    route: "recording/stop",
    status: 200,
    schema: requests.recordingRequest,
    act({ recorder }, { body }) {
      recorder.stop(body.name);
      return recorder.state();
    },
  }),
  reset: action({
    route: "reset",
    status: 200,
    act: ({ reset }) => ({ epoch: reset() }),
  }),
} as const;

export type ActionName = keyof typeof actions;

/** The result of an action, which its JSON route returns. */
export type ResultOf<Name extends ActionName> = Awaited<ReturnType<(typeof actions)[Name]["act"]>>;

export const actionNames = Object.keys(actions) as readonly ActionName[];

export const isAction = (name: string): name is ActionName => Object.hasOwn(actions, name);

/** Returns the path of an action's route, with its parameters filled in. */
export const pathOf = (name: ActionName, params: Readonly<Record<string, string>>): string =>
  `/_sandbox/${actions[name].route.replaceAll(/:(\w+)/g, (_, key: string) => encodeURIComponent(params[key] ?? ""))}`;

export interface ActionRequest extends Omit<ActionInput<unknown>, "body"> {
  /** The JSON value of the request's body, before the schema parses it. */
  readonly given?: unknown;
}

/**
 * Runs an action. Resolves once its changes are committed. Rejects with ApiError if the action is refused, or if the
 * data file cannot be written.
 */
export type Perform = (
  name: ActionName,
  request: ActionRequest,
) => Promise<{ readonly status: number; readonly result: unknown }>;

export const createPerform =
  (context: ControlContext): Perform =>
  async (name, { given: json, ...input }) => {
    const { status, schema, act }: Action = actions[name] as Action;
    const body = schema && validate(schema, json);
    const result = await act(context, { ...input, body });
    context.service.state.commit();
    context.recorder.noteAction(name, input.params, json, result);
    return { status: result === undefined ? 204 : status, result };
  };

/** Defines an action that calls a method of the engine for one delivery. */
function onDelivery(name: string, act: "runNow" | "skip" | "redeliver") {
  return action({
    route: `deliveries/:id/${name}`,
    status: 202,
    act: ({ service }, { params }) =>
      service.state.transaction(() => {
        const delivery = findDelivery(service, params["id"]);
        service.engine[act](delivery);
        return deliveryShape(service, delivery);
      }),
  });
}

async function changeClock(
  service: Service,
  { advance_ms, mode, speed }: z.output<typeof requests.clockRequest>,
) {
  const { clock } = service;
  if (mode !== undefined) {
    clock.setMode(mode, speed);
    return clockShape(service);
  }
  if (advance_ms === undefined) return clockShape(service, await clock.advanceToNext());
  if (clock.now() + advance_ms > lastTime)
    throw invalid("advance_ms", "The clock cannot go beyond the year 9999. Use a smaller number.");
  await clock.advance(advance_ms);
  return clockShape(service);
}

/** The maximum number of stored faults. A further fault replaces the oldest one that is used up or canceled. */
const mostFaults = 1_000;

function addFault(
  { state, faults }: Service,
  {
    target,
    kind,
    times,
    status,
    retry_after,
    delay_ms,
    result,
    sign_again,
  }: z.output<typeof requests.faultRequest>,
) {
  if (!target.startsWith("we_") && !operationNames.includes(target)) {
    throw invalid(
      "target",
      `target must be an endpoint we_… or one of: ${operationNames.join(", ")}.`,
    );
  }
  if (state.faults.size >= mostFaults) {
    const finished = Array.from(state.faults.all()).find((fault) => slotsLeft(fault) === 0);
    if (!finished)
      throw conflict(`There are already ${mostFaults} faults. Cancel some, or reset the sandbox.`);
    state.faults.drop(finished.id);
  }
  return faults.add({
    target,
    kind,
    times,
    ...(kind === "status" ? { status: status ?? 500, retryAfter: retry_after } : {}),
    ...(kind === "slow" || kind === "reorder" ? { delayMs: delay_ms } : {}),
    ...(kind === "drop" ? { result } : {}),
    ...(kind === "mutate" ? { signAgain: sign_again } : {}),
  });
}
