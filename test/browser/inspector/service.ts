import type { Page } from "playwright-core";
import { openPage, type PageOptions } from "@svc-webhooks/kit/browser";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import type { SandboxOptions } from "@svc-webhooks/sandbox";

// The tests name the members that they expect.
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

/** An address at which nothing listens: the port is reserved, and never free. */
export const refusing = "http://127.0.0.1:9/webhooks";

let keys = 0;

/** A sandbox of `openSandbox`, and the means to call it. */
export async function openService(options: SandboxOptions = {}) {
  const { sandbox, url } = await openSandbox(options);

  /** Calls `"POST /v1/domains"`. @throws Error for a response that is an error */
  async function call(route: string, body?: object, key = `key-${(keys += 1)}`): Promise<Json> {
    const [method = "", path = ""] = route.split(" ");
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: "Bearer svc_test",
        ...(body && { "content-type": "application/json" }),
        ...(path === "/v1/emails" && { "idempotency-key": key }),
      },
      body: body ? JSON.stringify(body) : null,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${route}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  return {
    sandbox,
    url,
    call,
    register: (target: string, ...types: string[]): Promise<Json> =>
      call("POST /v1/webhook-endpoints", {
        url: target,
        event_types: types.length > 0 ? types : ["email.sent", "email.delivered"],
      }),
    /** Sends an email, and runs what is due. */
    send: async (changes: object = {}, key?: string): Promise<Json> => {
      const email = { from: "ada@mail.example.test", to: ["grace@example.test"], text: "Hello." };
      const accepted = await call(
        "POST /v1/emails",
        { ...email, subject: "Receipt", ...changes },
        key,
      );
      await sandbox.clock.advance(0);
      return accepted;
    },
    /** The deliveries of the timeline's first page, newest call first. */
    deliveries: async (): Promise<Json[]> => {
      const { data } = await call("GET /_sandbox/timeline?limit=100");
      return data.flatMap(({ events }: Json) => events.flatMap((one: Json) => one.deliveries));
    },
  };
}

/** The page of a new sandbox. Nothing is loaded yet: see `visit`. */
export async function openInspector(pageOptions: PageOptions = {}, options: SandboxOptions = {}) {
  const service = await openService(options);
  return { ...service, page: await openPage(service.url, pageOptions) };
}

/** Loads an address of the page, and awaits its stream of changes. */
export async function visit(page: Page, address = "/"): Promise<void> {
  await page.goto(address);
  await page.locator(".live[data-live=live]").waitFor();
}
