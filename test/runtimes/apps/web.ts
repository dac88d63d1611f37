import { clientApp } from "./client.js";
import { fetchApp } from "./fetch.js";
import { honoApp } from "./hono.js";
import { portable } from "./portable.js";
import { schemesApp } from "./schemes.js";

/** A request and the other arguments that platforms pass: bindings and the execution context. */
type Arguments = Parameters<typeof honoApp.fetch>;

const apps: Readonly<Record<string, (...given: Arguments) => Response | Promise<Response>>> = {
  Hono: honoApp.fetch,
  fetch: fetchApp,
  client: clientApp,
  schemes: schemesApp,
  portable: async () => Response.json(await portable()),
};

/** Serves all adapters for web-standard requests; the first segment of the path selects one. */
export async function webApp(...given: Arguments): Promise<Response> {
  const [request] = given;
  const app = apps[new URL(request.url).pathname.split("/")[1] ?? ""];
  return app ? app(...given) : new Response(null, { status: 404 });
}
