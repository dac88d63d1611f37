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
import type { CheckpointRecord } from "./state/table.js";
import { callOf } from "./state/tally.js";

export interface SiteContext {
  readonly service: Service;
  readonly restoreAssumptions: () => void;
  readonly retention: Pick<Retention, "dropped" | "assertRoom" | "recount">;
  readonly saveClock: () => void;
  readonly recorder: Recorder;
  /** Whether the state is kept in a file. */
  readonly isKept: boolean;
}

/** The headers of each response that does not set them itself. They prevent caching, and access from other origins. */
const headers = {
  "Cache-Control": "no-store",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  // Not `no-referrer`, under which Chromium sends `Origin: null` with the page's own forms.
  "Referrer-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
};

/** Returns a recorder that also notifies the page when a recording starts or stops. */
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

/**
 * Returns functions that reset and rewind the sandbox, record a stray request, and return the facts that the page
 * shows.
 */
function createEras(
  { service, retention, restoreAssumptions, ...context }: SiteContext,
  stream: Stream,
) {
  const { state, clock, engine } = service;
  const startedAt = clock.now();
  /** The last stray request, and the facts about the last reset and the last rewind. */
  let era: Pick<Surroundings, "stray" | "resetAt" | "rewoundAt"> & {
    readonly droppedBefore: number;
  } = { stray: undefined, resetAt: undefined, rewoundAt: undefined, droppedBefore: 0 };

  const begin = (next: typeof era) => {
    era = next;
    state.commit();
    stream.restart();
  };

  return {
    reset(): void {
      engine.clear();
      state.clear();
      restoreAssumptions();
      context.saveClock();
      begin({
        stray: undefined,
        resetAt: clock.now(),
        rewoundAt: undefined,
        droppedBefore: retention.dropped,
      });
    },
    rewind(checkpoint: CheckpointRecord): void {
      rewindTo(service, checkpoint, restoreAssumptions);
      retention.recount();
      context.saveClock();
      begin({ ...era, stray: undefined, rewoundAt: clock.now() });
    },
    /** Records a request that was probably meant for the interface, but has a path that no route serves. */
    noteStray(stray: Stray): void {
      era = { ...era, stray };
    },
    surroundings: ({ url }: Request): Surroundings => ({
      position: stream.position(),
      baseUrl: new URL(url).origin,
      dropped: retention.dropped - era.droppedBefore,
      stray: era.stray,
      startedAt,
      resetAt: era.resetAt,
      rewoundAt: era.rewoundAt,
      recording: context.recorder.state(),
      isKept: context.isKept,
    }),
  };
}

/** Creates the handler for the inspector page and the control routes. It also responds to all unknown routes. */
export function createSite(context: SiteContext) {
  const { service, recorder } = context;
  const { state, ledger, clock, log } = service;
  const stream = createStream({
    callOf: (kind, id) => callOf(state, kind, id),
    counts: () => countsOf(state),
  });
  const eras = createEras(context, stream);
  const { surroundings } = eras;
  let refusals = 0;

  const refuse = (error: ApiError) => {
    refusals += 1;
    return errorResponse(error, `req_${refusals}`, ledger.get("errors.shape"));
  };

  const refusalOf = (error: unknown) => {
    state.commitSoon();
    return asRefusal(error, log);
  };

  const perform = createPerform({
    service,
    saveClock: context.saveClock,
    reset() {
      eras.reset();
      return stream.position().epoch;
    },
    rewind: (checkpoint) => eras.rewind(checkpoint),
    recorder: noticed(recorder, stream),
    assertRoom: context.retention.assertRoom,
  });
  const app = controlRoutes({ service, stream, perform, surroundings, recorder });
  addInspector(app, { service, perform, surroundings, refusalOf });

  app.notFound((c) => {
    const { method, path } = c.req;
    if (!path.startsWith("/_sandbox/") && method !== "GET" && method !== "HEAD")
      eras.noteStray({ method, path: path.slice(0, 200), at: clock.now() });
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
    reset: (): void => eras.reset(),
    note: stream.note,
    close: stream.close,
  };
}

/** Returns the refusal of a request that no route serves: 405 if another method would be served, otherwise 404. */
function missing(app: ReturnType<typeof controlRoutes>, path: string): ApiError {
  const allowed =
    path === "/openapi.json"
      ? ["GET"]
      : ["GET", "POST"].filter((method) => app.router.match(method, path)[0].length > 0);
  if (allowed.length === 0) {
    return notFound(
      "path",
      "There is no such route. The interface is under /v1/, and GET /_sandbox/ lists the control routes.",
    );
  }
  const Allow = allowed.join(", ");
  const text = `Use ${allowed.join(" or ")} for this route.`;
  return new ApiError(405, "method_not_allowed", text, { headers: { Allow } });
}
