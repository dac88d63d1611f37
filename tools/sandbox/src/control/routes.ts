import { Hono, type Context } from "hono";
import { authenticate } from "../http/authenticate.js";
import { newCall } from "../http/kept-request.js";
import { assertJson, parseJson, readBody } from "../http/read-body.js";
import { validate } from "../http/validate.js";
import { whole } from "../read/body.js";
import * as lists from "../read/lists.js";
import * as queries from "../read/queries.js";
import { timelineQuery } from "../read/search.js";
import * as shapes from "../read/shapes.js";
import { wholeList } from "../service/pages.js";
import { listQuery } from "../service/schemas.js";
import type { Service } from "../service/service.js";
import { actionNames, actions, type Perform } from "./actions.js";
import type { Recorder } from "./recorder.js";
import { logRequest } from "./requests.js";
import type { Stream } from "./stream.js";

export interface RouteContext {
  readonly service: Service;
  readonly stream: Stream;
  readonly perform: Perform;
  readonly recorder: Recorder;
  readonly surroundings: (request: Request) => queries.Surroundings;
}

/**
 * The content security policy for an email's HTML. It forbids scripts, network requests, forms and new windows, even if
 * the HTML is opened outside a frame.
 */
const mailPolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

/**
 * Renames the elements `<frame>`, `<iframe>`, `<link>` and `<meta>`, so that they have no effect. In spite of the
 * policy, a browser may connect to the host of a frame or of a `<link rel="preconnect">`, and a `<meta>` may act as a
 * response header.
 */
const withoutConnections = (html: string) =>
  html.replaceAll(/<(\/?)(i?frame|link|meta)/gi, "<$1x-$2");

/**
 * Returns the maximum size of an action's body, in bytes: the limit of A-24, but at least 1 MiB. A limit below 1 MiB
 * applies to the interface only, because here it could reject the very request that raises it.
 */
export const bodyLimit = ({ ledger }: Service): number => Math.max(1_048_576, ledger.get("limits"));

/** Creates the app with the routes under `/_sandbox/`. */
export function controlRoutes(context: RouteContext): Hono {
  const { service, stream, perform, surroundings, recorder } = context;
  const app = new Hono();

  const get = (path: string, show: (c: Context) => object | Promise<object>) =>
    app.get(`/_sandbox/${path}`, async (c) => c.json(await show(c)));

  get("", () => ({
    data: app.routes
      .filter(({ path }) => path.startsWith("/_sandbox/"))
      .map(({ method, path }) => `${method} ${path}`),
  }));
  get("overview", (c) => queries.overview(service, surroundings(c.req.raw)));
  get("timeline", (c) => {
    const entries = Object.entries(c.req.query()).filter(([, value]) => value !== "");
    return queries.timeline(service, validate(timelineQuery, Object.fromEntries(entries)));
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
    c.html(withoutConnections(queries.mailPart(service, param(c, "id"), "html")), 200, {
      "Content-Security-Policy": mailPolicy,
      // Without this header, a browser may look up the host names of the email's links.
      "X-DNS-Prefetch-Control": "off",
    }),
  );
  app.get("/_sandbox/sends/:id/text", (c) =>
    c.text(queries.mailPart(service, param(c, "id"), "text")),
  );
  app.get("/_sandbox/stream", (c) =>
    stream.open(c.req.header("last-event-id") ?? c.req.query("after")),
  );

  get("clock", () => shapes.clockShape(service));
  get("deliveries", (c) => {
    const key = c.req.header("authorization");
    const account =
      key === undefined ? undefined : authenticate(key, service.ledger.get("auth")).id;
    return lists.deliveries(service, account, validate(listQuery, c.req.query()));
  });
  get("endpoints", () => list(lists.endpoints(service)));
  get("domains", () => list(lists.domains(service)));
  get("faults", () => list(lists.faults(service)));
  get("checkpoints", () => list(lists.checkpoints(service)));
  get("assumptions", () => list(service.ledger.list()));

  app.post("/_sandbox/deliveries/:id/attempts/:n/log", async (c) => {
    const bytes = await readBody(c.req.raw, bodyLimit(service));
    const { lines } = validate(logRequest, jsonOf(c.req.raw, bytes));
    const { delivery, attempt } = queries.findAttempt(service, param(c, "id"), param(c, "n"));
    service.state.transaction(() => service.state.addLines(delivery, attempt, lines));
    service.state.commit();
    return new Response(null, { status: 204 });
  });

  app.get("/_sandbox/recording", (c) => {
    const { name, text } = recorder.file();
    return c.body(text, 200, {
      "Content-Type": "application/json",
      "Content-Disposition": `attachment; filename="${name}.json"`,
    });
  });

  for (const name of actionNames) {
    const { route, schema } = { schema: undefined, ...actions[name] };
    app.post(`/_sandbox/${route}`, async (c) => {
      const request = c.req.raw;
      const bytes = schema ? await readBody(request, bodyLimit(service)) : new Uint8Array();
      const { status, result } = await perform(name, {
        params: c.req.param(),
        given: schema && jsonOf(request, bytes),
        call: (account) => ({ ...newCall(service, request, account), body: whole(bytes) }),
      });
      return result === undefined
        ? new Response(null, { status })
        : Response.json(result, { status });
    });
  }
  return app;
}

const isFull = (c: Context) => c.req.query("full") === "true";

/** Returns the items as a list of a single page. */
const list = (items: readonly object[]) => wholeList(items, "cursor") as object;

const param = (c: Context, name: string): string => c.req.param(name) ?? "";

/**
 * Parses the JSON of a request. An empty body counts as `{}`, so that `curl -X POST` is enough where no member is
 * required.
 */
function jsonOf(request: Request, bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {};
  assertJson(request);
  return parseJson(bytes);
}
