import { fetchApp } from "./fetch.js";
import { honoApp } from "./hono.js";
import { portable } from "./portable.js";

/** A request, and what platforms give beside it: bindings, and whom to tell of work in the background. */
type Arguments = Parameters<typeof honoApp.fetch>;

const apps: Readonly<Record<string, (...given: Arguments) => Response | Promise<Response>>> = {
  Hono: honoApp.fetch,
  fetch: fetchApp,
  portable: async () => Response.json(await portable()),
};

/** All adapters for web-standard requests behind one function; the first part of the path tells which. */
export async function webApp(...given: Arguments): Promise<Response> {
  const [request] = given;
  const app = apps[new URL(request.url).pathname.split("/")[1] ?? ""];
  return app ? app(...given) : new Response(null, { status: 404 });
}
