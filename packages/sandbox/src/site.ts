import { createPerform } from "./control/actions.js";
import { controlRoutes } from "./control/routes.js";
import { createStream } from "./control/stream.js";
import { ApiError, asRefusal, notFound } from "./errors.js";
import { errorResponse } from "./http/error-response.js";
import { assertOwnRequest } from "./http/guard.js";
import { addInspector } from "./inspector/routes.js";
import type { Stray } from "./read/findings/findings.js";
import { countsOf, type Surroundings } from "./read/queries.js";
import type { Service } from "./service/service.js";
import type { Retention } from "./state/retention.js";
import type { ChangeListener } from "./state/state.js";
import { callOf } from "./state/tally.js";

export interface SiteContext {
  readonly service: Service;
  readonly restoreAssumptions: () => void;
  readonly retention: Pick<Retention, "dropped" | "assertRoom">;
  readonly listeners: Set<ChangeListener>;
  readonly saveClock: () => void;
  /** Whether the state is kept in a file. */
  readonly isKept: boolean;
}

/** The headers of every response: the page and its data are for this origin only, and change with each request. */
const headers = {
  "Cache-Control": "no-store",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  // Under `no-referrer`, Chromium sends `Origin: null` with the page's own forms.
  "Referrer-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
};

/** Creates the handler for everything outside the interface: the inspector page and the control routes. */
export function createSite(context: SiteContext) {
  const { service, listeners, retention, saveClock, isKept } = context;
  const { state, ledger, clock, engine, log } = service;
  const stream = createStream({
    callOf: (kind, id) => callOf(state, kind, id),
    counts: () => countsOf(state),
  });
  listeners.add(stream.note);
  let requests = 0;
  let droppedBefore = 0;
  let stray: Stray | undefined;
  const startedAt = clock.now();
  let resetAt: number | undefined;

  const refuse = (error: ApiError) => {
    requests += 1;
    return errorResponse(error, `req_${requests}`, ledger.get("errors.shape"));
  };

  const refusalOf = (error: unknown) => {
    state.commitSoon();
    return asRefusal(error, log);
  };

  const reset = () => {
    engine.clear();
    state.clear();
    context.restoreAssumptions();
    saveClock();
    droppedBefore = retention.dropped;
    stray = undefined;
    resetAt = clock.now();
    state.commit();
    stream.restart();
  };

  const surroundings = ({ url }: Request): Surroundings => ({
    position: stream.position(),
    baseUrl: new URL(url).origin,
    dropped: retention.dropped - droppedBefore,
    stray,
    startedAt,
    resetAt,
    isKept,
  });

  const perform = createPerform({
    service,
    saveClock,
    reset() {
      reset();
      return stream.position().epoch;
    },
    assertRoom: retention.assertRoom,
  });
  const app = controlRoutes({ service, stream, perform, surroundings });
  addInspector(app, { service, perform, surroundings, refusalOf });

  app.notFound((c) => {
    const { method, path } = c.req;
    if (!path.startsWith("/_sandbox/") && method !== "GET" && method !== "HEAD")
      stray = { method, path: path.slice(0, 200), at: clock.now() };
    const allowed =
      path === "/openapi.json"
        ? ["GET"]
        : ["GET", "POST"].filter((one) => app.router.match(one, path)[0].length > 0);
    if (allowed.length === 0) {
      return refuse(
        notFound(
          "path",
          "There is no such route. The interface is under /v1/, and GET /_sandbox/ lists the control routes.",
        ),
      );
    }
    const Allow = allowed.join(", ");
    const text = `Use ${Allow} for this route.`;
    return refuse(new ApiError(405, "method_not_allowed", text, { headers: { Allow } }));
  });

  app.onError((error) => refuse(refusalOf(error)));

  const guarded = async (request: Request): Promise<Response> => {
    try {
      assertOwnRequest(request);
    } catch (error) {
      return refuse(error as ApiError);
    }
    return app.fetch(request);
  };

  return {
    async fetch(request: Request): Promise<Response> {
      const response = await guarded(request);
      for (const [name, value] of Object.entries(headers))
        if (!response.headers.has(name)) response.headers.set(name, value);
      return response;
    },
    /** Returns the response to a request that was rejected before it reached the site. */
    refuse,
    reset,
    close: stream.close,
  };
}
