import type { Context, Hono } from "hono";
import type { Surroundings } from "../control/queries.js";
import { overview } from "../control/queries.js";
import { ApiError, invalid } from "../errors.js";
import { readBody } from "../http/read-body.js";
import type { Service } from "../service/service.js";
import {
  actionOf,
  isAction,
  needsToken,
  pathOf,
  stateAfter,
  type ActionName,
  type Fields,
} from "./actions.js";
import { scriptAsset, styleAsset } from "./assets.js";
import { href, readState, type PageState } from "./page-state.js";
import { isPart, renderPage, renderParts } from "./render.js";
import { createTokens } from "./tokens.js";
import type { Outcome, View } from "./view.js";

export interface InspectorContext {
  readonly service: Service;
  readonly surroundings: (request: Request) => Surroundings;
}

/** Everything comes from this origin, nothing runs but the script, and no page may frame this one. */
const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types inspector";

/** An edited body of 1 MiB, percent-encoded. */
const longestForm = 4_194_304;

/** Adds the page to the control routes. It reads with their functions, and acts through them. */
export function addInspector(app: Hono, { service, surroundings }: InspectorContext): void {
  const tokens = createTokens();
  const instance = tokens.issue();

  const viewOf = (c: Context, state: PageState, outcome?: Outcome): View => {
    const done = c.req.query("done") ?? "";
    return {
      service,
      state,
      overview: overview(service, surroundings(c.req.raw)),
      outcome,
      done: isAction(done) ? done : undefined,
      instance,
      issueToken: tokens.issue,
    };
  };

  app.get("/", async (c) => {
    if (!wantsPage(c)) return c.text(directions(c));
    const params = new URL(c.req.url).searchParams;
    const view = viewOf(c, readState(params));
    const names = Array.from(new Set(params.getAll("part").filter(isPart)));
    if (names.length > 0) return document(await renderParts(view, names, params.getAll("call")));
    return show(view);
  });

  /** A form: the control route does what it asks for. */
  const act = async (c: Context, state: PageState) => {
    const fields = fieldsOf(c.req.raw, await readBody(c.req.raw, longestForm));
    const name = fields["do"]?.[0] ?? "";
    if (!isAction(name)) throw invalid("do", "There is no such action.");
    const action = actionOf(name);
    if (needsToken(action) && !tokens.use(fields["token"]?.[0] ?? ""))
      return c.redirect(href(state, {}, action.anchor), 303);
    const response = await app.request(pathOf(action, fields), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(action.body?.(fields) ?? {}),
    });
    const result = await resultOf(response);
    if (!response.ok) {
      const message = messageIn(result);
      return show(
        viewOf(c, state, { kind: "refused", action: name, fields, message }),
        response.status,
      );
    }
    const outcome = outcomeOf(name, fields, result);
    if (outcome) return show(viewOf(c, state, outcome));
    const { pathname, search } = new URL(href(stateAfter(state, action, result)), c.req.url);
    const done = `${search === "" ? "?" : `${search}&`}done=${name}`;
    return c.redirect(`${pathname}${done}#${action.anchor ?? "detail"}`, 303);
  };

  app.post("/", async (c) => {
    const state = readState(new URL(c.req.url).searchParams);
    try {
      return await act(c, state);
    } catch (error) {
      if (!(error instanceof ApiError) || !wantsPage(c)) throw error;
      const { message, status } = error;
      return show(viewOf(c, state, { kind: "refused", fields: {}, message }), status);
    }
  });

  for (const { path, type, content } of [scriptAsset, styleAsset]) {
    app.get(
      path,
      () =>
        new Response(content, {
          headers: {
            "Content-Type": type,
            "Cache-Control": "public, max-age=31536000, immutable",
          },
        }),
    );
  }
}

const show = async (view: View, status = 200) => {
  const page = await renderPage(view);
  const isFormGone = view.outcome?.kind === "refused" && !page.includes(' class="refused"');
  const html = isFormGone ? await renderPage({ ...view, isFormGone }) : page;
  return document(html, status);
};

/** Parts too have forms, which no other page may frame. */
const document = (html: string, status = 200) =>
  new Response(html, {
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": pagePolicy,
      Vary: "Accept",
    },
  });

const wantsPage = (c: Context) => (c.req.header("accept") ?? "").includes("text/html");

/** What a client that is not a browser sees. */
function directions(c: Context): string {
  const { origin } = new URL(c.req.url);
  return `The sandbox serves the interface at ${origin}\nOpen ${origin}/ in a browser: it shows what happened and why.\nIts description: ${origin}/openapi.json\nThe control routes: ${origin}/_sandbox/\n`;
}

/** @throws ApiError 415 for another content type */
function fieldsOf(request: Request, bytes: Uint8Array): Fields {
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded")
    throw new ApiError(
      415,
      "unsupported_media_type",
      "Use application/x-www-form-urlencoded here.",
    );
  const fields = Object.create(null) as Record<string, string[]>;
  for (const [name, value] of new URLSearchParams(new TextDecoder().decode(bytes)))
    (fields[name] ??= []).push(value);
  return fields;
}

type Result = Readonly<Record<string, unknown>>;

const resultOf = async (response: Response): Promise<Result> => {
  const text = await response.text();
  return text === "" ? {} : (JSON.parse(text) as Result);
};

/** The message of an error in each shape of A-11. */
function messageIn(result: Result): string {
  const { message, detail } = (result["error"] ?? result) as {
    readonly message?: string;
    readonly detail?: string;
  };
  return message ?? detail ?? "It was refused.";
}

/** What the page shows itself, because no address may have it. */
function outcomeOf(action: ActionName, fields: Fields, result: Result): Outcome | undefined {
  const { shows } = actionOf(action);
  if (shows === "explanation")
    return { kind: "explained", action, fields, explanation: result as never };
  if (shows !== "secret") return undefined;
  const { secret, webhook_endpoint: endpoint } = result as {
    readonly secret: string;
    readonly webhook_endpoint: { readonly webhook_endpoint_id: string };
  };
  return { kind: "secret", action, fields, id: endpoint.webhook_endpoint_id, secret };
}
