import { Hono, type Context } from "hono";
import { z } from "zod";
import { sharedAccount } from "../http/authenticate.js";
import { assertJson, parseJson, readBody } from "../http/read-body.js";
import { validate } from "../http/validate.js";
import { verifyDomain } from "../service/operations.js";
import { wholeList } from "../service/pages.js";
import { domainResource } from "../service/resources.js";
import type { Service } from "../service/service.js";
import * as actions from "./actions.js";
import { explainAttempt } from "./explain.js";
import * as queries from "./queries.js";
import { newCall, recorded } from "./record-call.js";
import * as requests from "./requests.js";
import { timelineQuery } from "./search.js";
import * as shapes from "./shapes.js";
import type { Retention } from "../state/retention.js";
import type { Stream } from "./stream.js";

export interface RouteContext {
  readonly service: Service;
  readonly stream: Stream;
  readonly saveClock: () => void;
  readonly reset: () => void;
  readonly assertRoom: Retention["assertRoom"];
  readonly surroundings: (request: Request) => queries.Surroundings;
}

/** A mail can run nothing, load nothing and go nowhere, even if it is opened outside a frame. */
const mailPolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

/** A smaller limit is that of the interface: here it would refuse the request that undoes it. */
const leastLimit = 1_048_576;

/** The routes under `/_sandbox/`. */
export function controlRoutes(context: RouteContext): Hono {
  const { service, stream, saveClock, reset, assertRoom, surroundings } = context;
  const { state, ledger, engine, faults } = service;
  const app = new Hono();

  const get = (path: string, show: (c: Context) => object | Promise<object>) =>
    app.get(`/_sandbox/${path}`, async (c) => c.json(await show(c)));

  /** An action: what it changed is in the file before its response is sent. */
  const post = <Schema extends z.ZodType>(
    path: string,
    status: number,
    schema: Schema | undefined,
    act: (c: Context, body: z.output<Schema>, bytes: Uint8Array) => unknown,
  ) =>
    app.post(`/_sandbox/${path}`, async (c) => {
      const bytes = schema
        ? await readBody(c.req.raw, Math.max(leastLimit, ledger.get("limits")))
        : new Uint8Array();
      const body = schema ? validate(schema, jsonOf(c.req.raw, bytes)) : undefined;
      const result = await act(c, body as z.output<Schema>, bytes);
      state.commit();
      return result instanceof Response ? result : Response.json(result, { status });
    });

  const delivery = (c: Context) => queries.findDelivery(service, param(c, "id"));

  get("", () => ({
    data: app.routes
      .filter(({ path }) => path.startsWith("/_sandbox/"))
      .map(({ method, path }) => `${method} ${path}`),
  }));
  get("overview", (c) => queries.overview(service, surroundings(c.req.raw)));
  get("timeline", (c) => {
    const given = Object.entries(c.req.query()).filter(([, value]) => value !== "");
    return queries.timeline(service, validate(timelineQuery, Object.fromEntries(given)));
  });
  get("calls/:id", (c) => queries.callDetail(service, param(c, "id"), isFull(c)));
  get("sends/:id", (c) => queries.sendDetail(service, param(c, "id"), isFull(c)));
  get("events/:id", (c) => queries.eventDetail(service, param(c, "id")));
  get("deliveries/:id", (c) => queries.deliveryDetail(service, param(c, "id"), isFull(c)));
  get("deliveries/:id/attempts/:n", (c) =>
    queries.attemptDetail(service, param(c, "id"), param(c, "n"), isFull(c)),
  );
  app.get("/_sandbox/deliveries/:id/attempts/:n/curl", (c) =>
    c.text(queries.attemptCurl(service, param(c, "id"), param(c, "n"))),
  );
  app.get("/_sandbox/sends/:id/html", (c) =>
    c.html(queries.mailPart(service, param(c, "id"), "html"), 200, {
      "Content-Security-Policy": mailPolicy,
    }),
  );
  app.get("/_sandbox/sends/:id/text", (c) =>
    c.text(queries.mailPart(service, param(c, "id"), "text")),
  );
  app.get("/_sandbox/stream", (c) =>
    stream.open(c.req.header("last-event-id") ?? c.req.query("after")),
  );

  post("deliveries/:id/attempts/:n/explain", 200, requests.explainRequest, (c, { value }) => {
    const found = queries.findAttempt(service, param(c, "id"), param(c, "n"));
    return explainAttempt(service, found.delivery, found.attempt, value);
  });
  for (const [name, act] of [
    ["run-now", engine.runNow],
    ["skip", engine.skip],
    ["redeliver", engine.redeliver],
  ] as const) {
    post(`deliveries/:id/${name}`, 202, undefined, (c) => {
      const found = delivery(c);
      act(found);
      return shapes.deliveryShape(service, found);
    });
  }
  post("deliveries/:id/send", 202, requests.sendRequest, (c, body) => {
    if (body.body !== undefined) assertRoom();
    return actions.sendByHand(service, delivery(c), body);
  });
  post("test-email", 202, requests.testEmailRequest, (c, body, bytes) => {
    assertRoom();
    const call = newCall(service, c.req.raw, sharedAccount, bytes);
    return recorded(service, call, 202, () =>
      actions.sendTestEmail(service, sharedAccount, call, body),
    );
  });

  get("clock", () => shapes.clockShape(service));
  post("clock", 200, requests.clockRequest, async (_c, body) => {
    const result = await actions.changeClock(service, body);
    saveClock();
    return result;
  });

  get("endpoints", () => list(state.endpoints.all(), shapes.endpointShape));
  post("endpoints", 201, z.unknown(), async (c, body) =>
    responseOf(
      await actions.perform(
        service,
        "createWebhookEndpoint",
        sharedAccount,
        newCall(service, c.req.raw, sharedAccount),
        { body },
      ),
    ),
  );
  for (const [name, id] of [
    ["rotate-secret", "rotateWebhookEndpointSecret"],
    ["archive", "archiveWebhookEndpoint"],
  ] as const) {
    post(`endpoints/:id/${name}`, 200, undefined, async (c) => {
      const { id: endpointId, account } = queries.find(state.endpoints, param(c, "id"), "endpoint");
      const params = { webhook_endpoint_id: endpointId };
      const call = newCall(service, c.req.raw, account);
      return responseOf(await actions.perform(service, id, account, call, { params }));
    });
  }

  get("domains", () => list(state.domains.all(), domainResource));
  post("domains/:id/verify", 200, undefined, (c) => {
    const { id, account } = queries.find(state.domains, param(c, "id"), "domain");
    const call = newCall(service, c.req.raw, account);
    return recorded(service, call, 200, async () => {
      const input = { params: { domain_id: id } };
      const result = await actions.perform(service, "verifyDomain", account, call, input);
      return result.body as object;
    });
  });
  post("domains/:id/force", 200, requests.outcomeRequest, (c, { outcome }, bytes) => {
    const domain = queries.find(state.domains, param(c, "id"), "domain");
    const call = newCall(service, c.req.raw, domain.account, bytes);
    return recorded(service, call, 200, () =>
      domainResource(verifyDomain(service, domain, outcome, call.id)),
    );
  });

  get("faults", () => list(state.faults.all(), shapes.faultShape));
  post("faults", 201, requests.faultRequest, (_c, body) =>
    shapes.faultShape(actions.addFault(service, body)),
  );
  post("faults/:id/cancel", 200, undefined, (c) =>
    shapes.faultShape(faults.cancel(param(c, "id"))),
  );

  get("assumptions", () => wholeList(ledger.list(), "cursor") as object);
  post("assumptions/:id", 200, requests.assumptionRequest, (c, { value }) => {
    const selected = ledger.set(param(c, "id"), value);
    state.settings.put({ id: selected.id, value });
    return selected;
  });

  post("reset", 200, undefined, () => {
    reset();
    return { epoch: stream.position().epoch };
  });
  return app;
}

const isFull = (c: Context) => c.req.query("full") === "true";

/** A list without pages, newest first. */
const list = <Item>(items: Iterable<Item>, show: (item: Item) => object) =>
  wholeList(Array.from(items, show).toReversed(), "cursor") as object;

const param = (c: Context, name: string): string => c.req.param(name) ?? "";

/** The JSON of a request; `{}` for an empty one, so that `curl -X POST` is enough where nothing is required. */
function jsonOf(request: Request, bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {};
  assertJson(request);
  return parseJson(bytes);
}

/** The response of a public operation, which has no body under A-22=204. */
const responseOf = ({ status, body }: { readonly status: number; readonly body: unknown }) =>
  body === undefined ? new Response(null, { status }) : Response.json(body, { status });
