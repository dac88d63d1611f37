import { openPage, type PageOptions } from "@svc-webhooks/kit/browser";
import type { BodyOf } from "@svc-webhooks/kit/sandbox-responses";
import { openSandbox } from "@svc-webhooks/kit/sandboxes";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import type { Locator, Page } from "playwright-core";

export const bothTypes = ["email.sent", "email.delivered"];

let keys = 0;

/** Calls `"POST /v1/emails"` or a control route (`"POST clock"`) of a sandbox, and returns the parsed response. */
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

/** A sandbox of `openSandbox`, and the means to call it. */
export async function open(options: SandboxOptions = {}) {
  const opened = await openSandbox(options);
  const call = caller(opened.url);
  return {
    ...opened,
    call,
    /** Registers a receiver for emails that were sent and delivered, or for `types`. */
    register: async (target: string, types: readonly string[] = bothTypes) => {
      const { webhook_endpoint: endpoint, secret } = await call("POST endpoints", {
        url: target,
        event_types: types,
      });
      return { id: endpoint.webhook_endpoint_id, secret };
    },
    /** Sends an email through the public interface. */
    send: (changes: object = {}) =>
      call("POST /v1/emails", {
        from: "ada@mail.example.test",
        to: ["grace@example.test"],
        subject: "Your receipt",
        html: "<p>Thank you.</p>",
        text: "Thank you.",
        ...changes,
      }),
    /** All deliveries with the type of their event, oldest call first. */
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

/** Opens the page at an address, and waits until it receives changes. */
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

/** Resolves when the page receives changes. */
export const live = (page: Page): Promise<void> =>
  page.locator('.live[data-live="live"]').waitFor();

/** The text of an element as one line. */
export const lineOf = async (locator: Locator): Promise<string> =>
  (await locator.innerText()).replaceAll(/\s+/g, " ").trim();

/** The texts of all elements, each as one line. */
export const linesOf = async (locator: Locator): Promise<string[]> =>
  (await locator.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim());
