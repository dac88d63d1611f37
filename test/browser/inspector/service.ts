import type { Page } from "playwright-core";
import { openPage, type PageOptions } from "@svc-webhooks/kit/browser";
import type { SandboxOptions } from "@svc-webhooks/sandbox";
import { live, open } from "./support.js";

/** An address that refuses connections: its port is reserved, and nothing listens on it. */
export const refusing = "http://127.0.0.1:9/webhooks";

const email = { from: "ada@mail.example.test", to: ["grace@example.test"], text: "Hello." };

/** Opens a sandbox that delivers emails as soon as they are sent. */
export async function openService(options: SandboxOptions = {}) {
  const opened = await open(options);
  const { sandbox, call } = opened;
  return {
    ...opened,
    register: (target: string, ...types: string[]) =>
      opened.register(target, types.length > 0 ? types : undefined),
    /** Sends an email, and runs all due work. */
    send: async (changes: object = {}, key?: string) => {
      const body = { ...email, subject: "Receipt", ...changes };
      const accepted = await call("POST /v1/emails", body, key);
      await sandbox.clock.advance(0);
      return accepted;
    },
    /** Returns the deliveries on the timeline's first page, newest first. */
    deliveries: async () => (await opened.deliveries()).toReversed(),
  };
}

/** Opens a page for a new sandbox. Nothing is loaded yet: see `visit`. */
export async function openInspector(pageOptions: PageOptions = {}, options: SandboxOptions = {}) {
  const service = await openService(options);
  return { ...service, page: await openPage(service.url, pageOptions) };
}

/** Loads an address in the page, and awaits its stream of changes. */
export async function visit(page: Page, address = "/"): Promise<void> {
  await page.goto(address);
  await live(page);
}
