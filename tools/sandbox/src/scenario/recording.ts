import { actions, type ActionName } from "../control/actions.js";
import { slotsLeft } from "../faults.js";
import { longestKey } from "../service/idempotency.js";
import type { Exchange, Service } from "../service/service.js";
import type { CallRecord } from "../state/records.js";
import { fixedAssumption, mostSteps } from "./format.js";
import { idNames, idPattern } from "./service-ids.js";
import { withoutSecrets } from "../lib/mask.js";
import { jsonIn } from "../lib/json-in.js";
import { escaped, mapStrings, pathOfValue } from "./template.js";

export interface Recorded {
  /** The step as the file contains it. */
  readonly step: Record<string, unknown>;
  /** The response, in which later steps may find an id. */
  readonly response?: unknown;
}

/**
 * Thrown for a step that cannot be recorded: it refers to an item that no step can capture, a run cannot repeat it, or
 * the file has no room for it.
 */
export class Unknown extends Error {}

/** The assumptions that are not recorded: A-23, whose value may contain API keys, and the one that no file may set. */
export const unrecorded: ReadonlySet<string> = new Set(["A-23", fixedAssumption]);

export interface Recording {
  readonly steps: Recorded[];
  /** The steps whose results still exist. A rewind removes the steps after its checkpoint. */
  live: Recorded[];
  readonly assumptions: Record<string, string>;
  /**
   * The names of existing ids. A rewind removes the names of later ids, because with a `seed`, new items may get the
   * same ids.
   */
  names: Map<string, string>;
  /** All names that have been used, so that no name is used for two ids. */
  readonly usedNames: Set<string>;
  readonly keys: Map<string, string>;
  readonly checkpoints: Map<string, Pick<Recording, "names" | "live">>;
  readonly firstSeq: number;
  /** The calls from before the recording, which may still raise events. */
  readonly earlierCalls: ReadonlySet<string>;
  at: number;
  bytes: number;
  leftOut: number;
}

/** Returns the step for a call to the interface. @throws Unknown if a run cannot repeat the call */
export function callStep(
  service: Service,
  to: Recording,
  { call, authorization, sent, received }: Exchange,
): Recorded {
  const { method, path, status, lost, idempotencyKey } = call;
  if (!isRepeatable(call)) throw new Unknown();
  const write = writer(service, to, authorization);
  const text = new TextDecoder().decode(sent);
  const json = jsonIn(text);
  const written = json === undefined ? undefined : mapStrings(json, write);
  const isCreation = method === "POST" && pathnameOf(path) === endpointsPath;
  // The step has the receiver's URL in place of the original one, so a run cannot repeat a refused registration.
  if (isCreation && (json === undefined || status === 400)) throw new Unknown();
  const body =
    json === undefined
      ? text && { text: write(text) }
      : { body: isCreation ? toReceiver(written) : written };
  const key = idempotencyKey === undefined ? {} : { idempotency_key: keyOf(to, idempotencyKey) };
  return {
    response: jsonIn(received),
    step: {
      request: { method, path: write(path), ...key, ...(body === "" ? {} : body) },
      status: lost ? "lost" : status,
    },
  };
}

const endpointsPath = "/v1/webhook-endpoints";
const pathnameOf = (path: string) => path.split("?", 1)[0];

/**
 * Whether a run can get the same response. A run always sends a valid API key, idempotency key and content type, so it
 * cannot repeat a call that was refused for one of them. A file cannot contain a path of more than 2,000 characters.
 */
const isRepeatable = ({ account, code, idempotencyKey = "", status, path }: CallRecord): boolean =>
  account !== undefined &&
  code !== "missing_idempotency_key" &&
  idempotencyKey.length <= longestKey &&
  status !== 415 &&
  path.length <= 2_000;

/** Returns the body of a request for a new endpoint, with `{receiver}` as its URL. */
const toReceiver = (body: unknown): unknown =>
  typeof body === "object" && body !== null && "url" in body
    ? { ...body, url: "{receiver}" }
    : body;

interface DoneAction {
  readonly name: ActionName;
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly result: unknown;
}

/** Returns the step for an action. @throws Unknown if it refers to an id that no step can capture */
export function actionStep(
  service: Service,
  to: Recording,
  { name, params, body, result }: DoneAction,
): Recorded {
  const write = writer(service, to, null);
  if (name === "checkpoint")
    to.checkpoints.set((result as { readonly name: string }).name, {
      names: new Map(to.names),
      live: [...to.live],
    });
  const fields = mapStrings(body ?? {}, write) as object;
  const written = name === "create-endpoint" ? (toReceiver(fields) as object) : fields;
  // Only the route's parameters are recorded, because a form has other fields too.
  const names = actions[name].route.split("/");
  const used = Object.entries(params).filter(([key]) => names.includes(`:${key}`));
  const filled = Object.fromEntries(used.map(([key, value]) => [key, write(value)]));
  return {
    response: result,
    step: {
      action: name,
      ...(used.length === 0 ? {} : { params: filled }),
      ...(Object.keys(written).length === 0 ? {} : { body: written }),
    },
  };
}

/** Returns a short name for an idempotency key. Equal keys have the same name. */
function keyOf({ keys }: Recording, key: string): string {
  const name = keys.get(key) ?? `key-${keys.size + 1}`;
  keys.set(key, name);
  return name;
}

/**
 * Returns a function that writes a text for the file: without secrets, and with references in place of ids and of the
 * endpoints' URLs.
 */
function writer({ state }: Service, to: Recording, authorization: string | null) {
  const endpoints = state.endpoints.list();
  // Longer texts are replaced first, because a secret or a URL may be the start of a longer one.
  const secrets = longestFirst([
    authorization?.trim().split(" ").at(-1) ?? "",
    ...endpoints.flatMap(({ secret, previous }) => [secret, previous?.secret ?? ""]),
  ]).filter((secret) => secret.length >= 8);
  const urls = longestFirst(endpoints.map(({ url }) => escaped(url)));
  return (text: string): string => {
    let written = text;
    for (const secret of secrets) written = written.replaceAll(secret, "…");
    written = withoutSecrets(written, () => "…").replaceAll(/\bsvc_(?:live|test)_\w+/g, "…");
    written = escaped(written);
    for (const url of urls) written = written.replaceAll(url, "{receiver}");
    return written.replaceAll(idPattern, (id, kind: string) => `{${nameOf(to, id, kind, state)}}`);
  };
}

const longestFirst = (texts: readonly string[]) => texts.toSorted((a, b) => b.length - a.length);

/** Returns the name of an id. If no step has captured the id, captures it. @throws Unknown if no step can */
function nameOf(to: Recording, id: string, kind: string, state: Service["state"]): string {
  const known = to.names.get(id);
  if (known !== undefined) return known;
  const base = idNames[kind] ?? kind;
  let name = base;
  for (let n = 2; to.usedNames.has(name); n += 1) name = `${base}-${n}`;
  captureId(to, id, name, state);
  to.names.set(id, name);
  to.usedNames.add(name);
  return name;
}

/** Returns the deliveries caused by calls since the recording began, oldest first. A run causes the same deliveries. */
const ownDeliveries = (state: Service["state"], to: Recording) =>
  state.deliveries
    .list()
    .filter(({ seq, callId }) => seq > to.firstSeq && !to.earlierCalls.has(callId));

function captureId(to: Recording, id: string, name: string, state: Service["state"]): void {
  for (const { step, response } of to.live) {
    const path = pathOfValue(response, id);
    if (path === undefined) continue;
    step["capture"] = { ...(step["capture"] as object | undefined), [name]: path };
    return;
  }
  const all = ownDeliveries(state, to);
  const index = all.findIndex((delivery) => delivery.id === id || delivery.eventId === id);
  // The last 50 steps are left for the expectations at the end.
  if (index === -1 || to.steps.length >= mostSteps - 50) throw new Unknown();
  const member = all[index]?.id === id ? "id" : "event_id";
  to.steps.push({ step: { find: { number: index + 1 }, capture: { [name]: member } } });
}

/**
 * Yields steps that create the domains, active endpoints and unused faults that exist when the recording begins. Adds
 * the names of the domains and endpoints to `names`.
 */
export function* initialSteps({ state }: Service, names: Map<string, string>): Iterable<Recorded> {
  const nameFor = (id: string, base: string) => {
    const earlier = [...names.values()].filter((name) => name.startsWith(`initial-${base}-`));
    const name = `initial-${base}-${earlier.length + 1}`;
    names.set(id, name);
    return name;
  };
  // Domains come before endpoints, so that their events go to no endpoint.
  for (const { id, name: domain, status } of state.domains.list()) {
    const name = nameFor(id, "domain");
    yield {
      step: {
        request: { method: "POST", path: "/v1/domains", body: { domain_name: domain } },
        status: 201,
        capture: { [name]: "domain_id" },
      },
    };
    if (status === "pending") continue;
    const params = { id: `{${name}}` };
    yield { step: { action: "force-domain", params, body: { outcome: status } } };
  }
  for (const { id, eventTypes, status } of state.endpoints.list()) {
    if (status !== "active") continue;
    const capture = { [nameFor(id, "endpoint")]: "webhook_endpoint.webhook_endpoint_id" };
    const body = { url: "{receiver}", event_types: eventTypes };
    yield {
      step: {
        request: { method: "POST", path: "/v1/webhook-endpoints", body },
        status: 201,
        capture,
      },
    };
  }
  for (const fault of state.faults.list()) {
    const times = slotsLeft(fault);
    const target = names.get(fault.target);
    if (times === 0 || (target === undefined && fault.target.startsWith("we_"))) continue;
    const { kind, status, retryAfter, delayMs, result, signAgain } = fault;
    const body = {
      target: target === undefined ? fault.target : `{${target}}`,
      kind,
      times: kind === "reorder" ? Math.max(2, times) : times,
      ...(status === undefined ? {} : { status }),
      ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
      ...(delayMs === undefined ? {} : { delay_ms: delayMs }),
      ...(result === undefined ? {} : { result }),
      ...(signAgain === undefined ? {} : { sign_again: signAgain }),
    };
    yield { step: { action: "add-fault", body } };
  }
}

/**
 * Returns one expectation for each endpoint, event type and state: the number of deliveries that recorded calls caused.
 * Omits deliveries that are attempting, and those whose endpoint no step can name.
 */
export function observed({ state }: Service, to: Recording): readonly object[] {
  const counts = new Map<string, { readonly deliveries: object; count: number }>();
  for (const { endpointId, type, state: result } of ownDeliveries(state, to)) {
    if (result === "attempting") continue;
    let endpoint: string;
    try {
      endpoint = `{${nameOf(to, endpointId, "we", state)}}`;
    } catch {
      continue;
    }
    const deliveries = { endpoint, type, state: result };
    const key = JSON.stringify(deliveries);
    const counted = counts.get(key) ?? { deliveries, count: 0 };
    counted.count += 1;
    counts.set(key, counted);
  }
  return Array.from(counts.values(), ({ deliveries, count }) => ({
    expect: { deliveries: { ...deliveries, count } },
  }));
}
