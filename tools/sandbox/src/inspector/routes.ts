import type { Context, Hono } from "hono";
import type { Explanation } from "@svc-webhooks/explain";
import { isAction, pathOf, type ActionName, type ResultOf } from "../control/actions.js";
import { bodyLimit, type RouteContext } from "../control/routes.js";
import { ApiError, invalid } from "../errors.js";
import { newCall } from "../http/kept-request.js";
import { readBody, tooLarge } from "../http/read-body.js";
import { whole } from "../read/body.js";
import { hasFailed, noteworthyDelivery, overview } from "../read/queries.js";
import { schemeAsset, scriptAsset, styleAsset } from "./assets.js";
import { field, formOf, needsToken, stateAfter, type Fields } from "./forms.js";
import { href, readState, type PageState } from "./page-state.js";
import { isPart, renderPage, renderParts } from "./render.js";
import { createTokens } from "./tokens.js";
import type { Outcome, View } from "./view.js";

export interface InspectorContext extends Omit<RouteContext, "stream" | "recorder"> {
  /** Returns the ApiError to respond with. Logs any error that is not an ApiError, as a failure of the sandbox. */
  readonly refusalOf: (error: unknown) => ApiError;
}

/** The page's content security policy. Allows only content from this origin and `data:` images. Forbids framing. */
const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types inspector";

/** The maximum size of a form, in bytes. It leaves room for an edited body of 1 MiB, percent-encoded. */
const longestForm = 4_194_304;

/** Adds the page to the control routes. The page uses the same queries and actions as the control routes. */
export function addInspector(app: Hono, context: InspectorContext): void {
  const { service, perform, surroundings, refusalOf } = context;
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
    const { search, searchParams: params } = new URL(c.req.url);
    // A browser that opens the page by its address, not by a link, is redirected to the newest failed delivery, if
    // there is one.
    const isOpened = search === "" && c.req.header("sec-fetch-site") === "none";
    const shown = isOpened ? noteworthyDelivery(service) : undefined;
    if (shown && hasFailed(shown)) return c.redirect(href({ item: shown.id }), 302);
    const view = viewOf(c, readState(params));
    const names = Array.from(new Set(params.getAll("part").filter(isPart)));
    if (names.length > 0) return document(await renderParts(view, names, params.getAll("call")));
    return show(view);
  });

  /** Runs the action of a form. Resolves to the response: a page with the result, or a redirect. */
  const submit = async (c: Context, name: ActionName, fields: Fields, state: PageState) => {
    const form = formOf(name);
    if (needsToken(form) && !tokens.use(field(fields, "token")))
      return c.redirect(href(state, {}, form.anchor), 303);
    const params = Object.fromEntries(
      Object.entries(fields).map(([key, [value = ""]]) => [key, value]),
    );
    const json = form.body?.(fields) ?? {};
    const { result } = await perform(name, {
      params,
      given: json,
      call(account) {
        const { href: url } = new URL(pathOf(name, params), c.req.url);
        const headers = new Headers({ "Content-Type": "application/json" });
        const body = whole(new TextEncoder().encode(JSON.stringify(json)));
        return { ...newCall(service, { method: "POST", url, headers }, account), body };
      },
    });
    const outcome = outcomeOf(name, fields, result);
    if (outcome) return show(viewOf(c, state, outcome));
    const { pathname, search } = new URL(href(stateAfter(state, form, result)), c.req.url);
    const done = `${search === "" ? "?" : `${search}&`}done=${name}`;
    return c.redirect(`${pathname}${done}#${form.anchor ?? "detail"}`, 303);
  };

  app.post("/", async (c) => {
    const state = readState(new URL(c.req.url).searchParams);
    let asked: Pick<Outcome, "action" | "fields"> = { fields: {} };
    try {
      const fields = fieldsOf(c.req.raw, await readBody(c.req.raw, longestForm));
      if (lengthOf(fields) > bodyLimit(service)) throw tooLarge(bodyLimit(service));
      const action = field(fields, "do");
      if (!isAction(action)) throw invalid("do", "There is no such action.");
      asked = { action, fields };
      return await submit(c, action, fields, state);
    } catch (error) {
      const refusal = refusalOf(error);
      if (!wantsPage(c)) throw refusal;
      const { message, status } = refusal;
      return show(viewOf(c, state, { kind: "refused", ...asked, message }), status);
    }
  });

  const forever = "public, max-age=31536000, immutable";
  for (const { path, type, content } of [scriptAsset, schemeAsset, styleAsset])
    app.get(path, (c) => c.body(content, 200, { "Content-Type": type, "Cache-Control": forever }));
}

const show = async (view: View, status = 200) => {
  const page = await renderPage(view);
  const isFormGone = view.outcome?.kind === "refused" && !page.includes(' class="refused"');
  const html = isFormGone ? await renderPage({ ...view, isFormGone }) : page;
  return document(html, status);
};

/**
 * Returns an HTML response for the page or its parts. The policy applies to parts too, so that no other page can frame
 * their forms.
 */
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

/** Returns the text for clients that do not accept HTML. */
function directions(c: Context): string {
  const { origin } = new URL(c.req.url);
  return `The sandbox serves the interface at ${origin}\nOpen ${origin}/ in a browser: the page shows what happened and why.\nThe OpenAPI document is at ${origin}/openapi.json\nThe control routes are at ${origin}/_sandbox/\n`;
}

/** Parses the fields of a submitted form. @throws ApiError 415 for another content type */
function fieldsOf(request: Request, bytes: Uint8Array): Fields {
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded")
    throw new ApiError(
      415,
      "unsupported_media_type",
      "Send the form as application/x-www-form-urlencoded.",
    );
  const fields = Object.create(null) as Record<string, string[]>;
  for (const [name, value] of new URLSearchParams(new TextDecoder().decode(bytes)))
    (fields[name] ??= []).push(value);
  return fields;
}

const lengthOf = (fields: Fields) => Buffer.byteLength(Object.values(fields).flat().join(""));

/** Returns the outcome of an action whose result the page shows without a redirect, or undefined for other actions. */
function outcomeOf(action: ActionName, fields: Fields, result: unknown): Outcome | undefined {
  const { shows } = formOf(action);
  if (shows === "explanation")
    return { kind: "explained", action, fields, explanation: result as Explanation };
  if (shows !== "secret") return undefined;
  const { secret, webhook_endpoint: endpoint } = result as ResultOf<"create-endpoint">;
  return { kind: "secret", action, fields, id: endpoint.webhook_endpoint_id, secret };
}
