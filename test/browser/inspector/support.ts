import { openPage, type PageOptions } from "@svc-webhooks/kit/browser";
import type { BodyOf } from "@svc-webhooks/kit/sandbox-responses";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import type { Locator, Page } from "playwright-core";

export const bothTypes = ["email.sent", "email.delivered"];

let keys = 0;

/**
 * Returns a function that calls a route of a sandbox, such as `"POST /v1/emails"` or the control route `"POST clock"`,
 * and returns the parsed response.
 */
export const caller =
  (url: string) =>
  async <Route extends string>(
    route: Route,
    body?: object,
    key = `key-${(keys += 1)}`,
  ): Promise<BodyOf<Route>> => {
    const [method = "", path = ""] = route.split(" ");
    const response = await fetch(url + (path.startsWith("/") ? path : `/_sandbox/${path}`), {
      method,
      headers: {
        authorization: "Bearer svc_test",
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: method === "GET" ? null : JSON.stringify(body ?? {}),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${route}: ${response.status} ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as BodyOf<Route>;
  };

/** Opens a sandbox with `openSandbox`, and adds functions that call it. */
export async function open(options: SandboxOptions = {}) {
  const opened = await openSandbox(options);
  const call = caller(opened.url);
  return {
    ...opened,
    call,
    /** Registers an endpoint for the types `email.sent` and `email.delivered`, or for `types`. */
    register: async (target: string, types: readonly string[] = bothTypes) => {
      const { webhook_endpoint: endpoint, secret } = await call("POST endpoints", {
        url: target,
        event_types: types,
      });
      return { id: endpoint.webhook_endpoint_id, secret };
    },
    /** Sends an email through the public API. */
    send: (changes: object = {}) =>
      call("POST /v1/emails", {
        from: "ada@mail.example.test",
        to: ["grace@example.test"],
        subject: "Your receipt",
        html: "<p>Thank you.</p>",
        text: "Thank you.",
        ...changes,
      }),
    /** Returns all deliveries, each with the type of its event. Those of the oldest call come first. */
    deliveries: async () => {
      const { data } = await call("GET timeline?limit=100");
      return data
        .toReversed()
        .flatMap(({ events }) =>
          events.flatMap(({ type, deliveries }) => deliveries.map((one) => ({ ...one, type }))),
        );
    },
  };
}

export type Opened = Awaited<ReturnType<typeof open>>;

/** Opens the page at an address, and waits until its stream of changes is connected. */
export async function openInspector(
  { url }: Pick<Opened, "url">,
  address = "/",
  options: PageOptions = {},
): Promise<Page> {
  const page = await openPage(url, options);
  await page.goto(address);
  if (options.javaScriptEnabled !== false) await live(page);
  return page;
}

/** Resolves when the page is connected to its stream of changes. */
export const live = (page: Page): Promise<void> =>
  page.locator('.live[data-live="live"]').waitFor();

/** Returns an element's text as one line. An element that the page replaces meanwhile has no text, so it is read again. */
export async function lineOf(locator: Locator): Promise<string> {
  const text = await locator.evaluate((element) =>
    element.isConnected ? (element as HTMLElement).innerText : undefined,
  );
  return text === undefined ? lineOf(locator) : text.replaceAll(/\s+/g, " ").trim();
}

/** Returns the text of each element as one line. */
export const linesOf = async (locator: Locator): Promise<string[]> =>
  (await locator.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim());
