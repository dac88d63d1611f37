import { present } from "@svc-webhooks/kit/present";
import { axe } from "@svc-webhooks/kit/axe";
import { describeWithBrowser, openPage } from "@svc-webhooks/kit/browser";
import type { Page } from "playwright-core";
import { ends } from "@svc-webhooks/kit/sized";
import { expect, onTestFinished, test } from "vitest";
import { openService, refusing, visit } from "./service.js";

type Service = Awaited<ReturnType<typeof openService>>;

/** Responds according to the subject of the email. Never responds to a slow one. */
async function respond(request: Request): Promise<Response> {
  const text = await request.text();
  if (text.includes("Refused"))
    return Response.json({ error: { code: "signature_mismatch" } }, { status: 401 });
  if (text.includes("Slow")) return new Promise(() => {});
  return new Response("thanks");
}

/** Creates deliveries that succeeded, failed, are pending or were not sent, and a pending fault. */
async function fill(service: Service): Promise<void> {
  const { sandbox, register, send } = service;
  sandbox.deliverTo(respond);
  await register(refusing, "email.sent", "email.delivered");
  await send();
  await send({ subject: "Refused" });
  await sandbox.clock.advance(30 * 86_400_000);
  await send({ subject: "Refused", html: "<p><a href='https://example.test/'>Read</a></p>" });
  await send({ to: ["failed@example.test"] });
  await service.call("POST /v1/domains", { domain_name: "mail.example.test" });
  await service.call("POST /_sandbox/faults", {
    target: "POST /v1/domains",
    kind: "status",
    times: 2,
  });
}

const newest = async (service: Service, state: string): Promise<string> =>
  present((await service.deliveries()).find((one) => one.state === state)).id;

/** Opens all disclosures. */
const unfold = (page: Page) =>
  page.evaluate(() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });

const states: readonly {
  readonly name: string;
  readonly prepare: (service: Service, page: Page) => Promise<void>;
}[] = [
  { name: "fresh", prepare: (_, page) => visit(page) },
  {
    name: "busy",
    async prepare(service, page) {
      await fill(service);
      await visit(page);
      // Not awaited, because the manual clock advances only once the attempt has ended.
      void service.send({ subject: "Slow" });
      await page.locator(".chip.half").first().waitFor();
      expect(
        await page.locator(".chip:is(.ok, .bad, .wait, .half, .quiet)").count(),
      ).toBeGreaterThan(8);
    },
  },
  {
    name: "failed",
    async prepare(service, page) {
      await fill(service);
      await visit(page, `/?item=${await newest(service, "failed")}`);
    },
  },
  {
    name: "empty after a filter",
    async prepare(service, page) {
      await fill(service);
      await visit(page, "/?state=failed&q=nothing+has+this+text");
      await page.locator("#empty").waitFor();
    },
  },
  {
    name: "detail, with everything unfolded",
    async prepare(service, page) {
      await fill(service);
      await visit(page, `/?item=${await newest(service, "pending")}`);
      await page.locator(".next").waitFor();
      await unfold(page);
    },
  },
  {
    name: "secret shown",
    async prepare(service, page) {
      await fill(service);
      await visit(page);
      await page.getByRole("button", { name: "Rotate secret" }).click();
      await page.locator("#secret").waitFor();
      await unfold(page);
    },
  },
  {
    name: "recording, with checkpoints",
    async prepare(service, page) {
      await fill(service);
      await service.sandbox.checkpoint("before-lunch");
      await service.call("POST /_sandbox/recording/start");
      await visit(page);
      await page.getByRole("button", { name: "Stop recording" }).waitFor();
      await unfold(page);
    },
  },
  {
    name: "recorded",
    async prepare(service, page) {
      await fill(service);
      const failed = await newest(service, "failed");
      await service.call("POST /_sandbox/recording/start");
      await service.call(`POST /_sandbox/deliveries/${failed}/redeliver`);
      await service.call("POST /_sandbox/recording/stop", { name: "n".repeat(60) });
      await visit(page);
      await page.getByRole("link", { name: /^Download n/ }).waitFor();
      await unfold(page);
    },
  },
  {
    name: "disconnected",
    async prepare(service, page) {
      await fill(service);
      await visit(page);
      await service.sandbox.close();
      await page.locator(".live[data-live=off]").waitFor();
    },
  },
];

/**
 * Describes each text that extends beyond the window or its box or is cut off in a select, and each box that scrolls
 * sideways but should not.
 */
export const sticksOut = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => {
    const found: string[] = [];
    const { documentElement: root } = document;
    for (const box of [root, ...document.querySelectorAll(".detail, .rail, .panel, dialog")])
      if (box.scrollWidth > box.clientWidth + 1)
        found.push(`${box.tagName} ${box.id} is ${box.scrollWidth} px in ${box.clientWidth} px`);
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      const parent = node.parentElement;
      // Boxes of bytes and tables may scroll, so text in them is not checked.
      if (!node.nodeValue?.trim() || !parent?.checkVisibility()) continue;
      if (parent.closest(".vh, .skip, .scroll, .body, select, textarea, noscript, script"))
        continue;
      const box = parent.closest("button, .btn, .chip, summary, .slot, .panel, header");
      const { left, right } = box?.getBoundingClientRect() ?? { left: 0, right: innerWidth };
      range.selectNodeContents(node);
      for (const line of range.getClientRects())
        if (line.left < Math.max(0, left) - 1 || line.right > Math.min(innerWidth, right) + 1)
          found.push(`"${node.nodeValue.trim().slice(0, 60)}" leaves ${box?.className}`);
    }
    const pen = document.createElement("canvas").getContext("2d");
    for (const select of document.querySelectorAll("select")) {
      if (!pen || !select.checkVisibility()) continue;
      pen.font = getComputedStyle(select).font;
      const text = select.selectedOptions[0]?.text ?? "";
      const padding = 2 * Number.parseFloat(getComputedStyle(select).paddingLeft);
      if (pen.measureText(text).width > select.clientWidth - padding)
        found.push(`"${text}" is cut in a select of ${select.clientWidth} px`);
    }
    return found;
  });

const widths = ends([1600, 960, 360, 320]);

/** A closed sandbox refuses the stream's connection, and the browser logs that. */
const allow = [/ERR_(?:CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|CONNECTION_RESET)/];

describeWithBrowser("the inspector", () => {
  for (const colorScheme of ["light", "dark"] as const) {
    test.each(states)(
      `has no violation and no sideways scrolling: $name, ${colorScheme}`,
      async ({ name, prepare }) => {
        const service = await openService();
        const page = await openPage(service.url, {
          colorScheme,
          ...(name === "disconnected" && { allow }),
        });
        await prepare(service, page);
        for (const width of widths) {
          await page.setViewportSize({ width, height: 800 });
          expect({
            width,
            out: await sticksOut(page),
            violations: await axe(page),
          }).toEqual({ width, out: [], violations: [] });
        }
      },
    );
  }

  test.each(states.filter(({ name }) => name !== "disconnected"))(
    "cuts nothing where text is twice as large: $name",
    async ({ prepare }) => {
      const service = await openService();
      const page = await openPage(service.url);
      const session = await page.context().newCDPSession(page);
      await session.send("Page.setFontSizes", { fontSizes: { standard: 32, fixed: 26 } });
      onTestFinished(() => session.detach());
      await prepare(service, page);
      expect(await page.evaluate(() => getComputedStyle(document.body).fontSize)).toBe("28px");
      for (const width of [1600, 1280, 960, 640]) {
        await page.setViewportSize({ width, height: 800 });
        expect({ width, out: await sticksOut(page) }).toEqual({ width, out: [] });
      }
    },
  );
});
