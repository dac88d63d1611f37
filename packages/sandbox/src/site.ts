import { createPerform } from "./control/actions.js";
import { rewindTo } from "./control/checkpoints.js";
import type { Recorder } from "./control/recorder.js";
import { controlRoutes } from "./control/routes.js";
import { createStream, type Stream } from "./control/stream.js";
import { ApiError, asRefusal, notFound } from "./errors.js";
import { errorResponse } from "./http/error-response.js";
import { assertOwnRequest } from "./http/guard.js";
import { addInspector } from "./inspector/routes.js";
import type { Stray } from "./read/findings/findings.js";
import { countsOf, type Surroundings } from "./read/queries.js";
import type { Service } from "./service/service.js";
import type { Retention } from "./state/retention.js";
import type { ChangeListener } from "./state/state.js";
import type { CheckpointRecord } from "./state/table.js";
import { callOf } from "./state/tally.js";

export interface SiteContext {
  readonly service: Service;
  readonly restoreAssumptions: () => void;
  readonly retention: Pick<Retention, "dropped" | "assertRoom" | "recount">;
  readonly listeners: Set<ChangeListener>;
  readonly saveClock: () => void;
  readonly recorder: Recorder;
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

/** Returns the recorder, and makes the page notice when a recording starts or stops. */
const noticed = (recorder: Recorder, stream: Pick<Stream, "note">): Recorder => ({
  ...recorder,
  start() {
    recorder.start();
    stream.note("setting", "recording");
  },
  stop(name) {
    recorder.stop(name);
    stream.note("setting", "recording");
  },
});

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
  let rewoundAt: number | undefined;

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
    rewoundAt = undefined;
    state.commit();
    stream.restart();
  };

  const rewind = (checkpoint: CheckpointRecord) => {
    rewindTo(service, checkpoint, context.restoreAssumptions);
    retention.recount();
    saveClock();
    stray = undefined;
    rewoundAt = clock.now();
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
    rewoundAt,
    recording: context.recorder.state(),
    isKept,
  });

  const recorder = noticed(context.recorder, stream);
  const perform = createPerform({
    service,
    saveClock,
    reset() {
      reset();
      return stream.position().epoch;
    },
    rewind,
    recorder,
    assertRoom: retention.assertRoom,
  });
  const app = controlRoutes({ service, stream, perform, surroundings, recorder: context.recorder });
  addInspector(app, {
    service,
    perform,
    surroundings,
    recorder: context.recorder,
    refusalOf,
  });

  app.notFound((c) => {
    const { method, path } = c.req;
    if (!path.startsWith("/_sandbox/") && method !== "GET" && method !== "HEAD")
      stray = { method, path: path.slice(0, 200), at: clock.now() };
    return refuse(missing(app, path));
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
    perform,
    reset,
    close: stream.close,
  };
}

/** Returns the refusal of a request that no route serves: 405 if another method would be served, otherwise 404. */
function missing(app: ReturnType<typeof controlRoutes>, path: string): ApiError {
  const allowed =
    path === "/openapi.json"
      ? ["GET"]
      : ["GET", "POST"].filter((one) => app.router.match(one, path)[0].length > 0);
  if (allowed.length === 0) {
    return notFound(
      "path",
      "There is no such route. The interface is under /v1/, and GET /_sandbox/ lists the control routes.",
    );
  }
  const Allow = allowed.join(", ");
  const text = `Use ${Allow} for this route.`;
  return new ApiError(405, "method_not_allowed", text, { headers: { Allow } });
}
