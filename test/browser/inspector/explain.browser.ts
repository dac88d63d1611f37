import { present } from "@svc-webhooks/kit/present";
import { createHmac } from "node:crypto";
import { describeWithBrowser } from "@svc-webhooks/kit/browser";
import { eachNth } from "@svc-webhooks/kit/sized";
import { compact, plantMistakes, type Planted } from "@svc-webhooks/kit/planted-mistakes";
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { lineOf, open, openInspector } from "./support.js";

const target = "http://localhost:3000/webhooks";

const signed = (body: Uint8Array, secret: string) =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

/** Opens a sandbox with a delivery to an endpoint whose secret has been rotated, and with a second endpoint. */
async function rotated() {
  const opened = await open();
  const { sandbox, call, register, send } = opened;
  /** The request bodies as the receiver got them. */
  const arrived: Uint8Array[] = [];
  sandbox.deliverTo(async (request) => {
    arrived.push(new Uint8Array(await request.arrayBuffer()));
    return new Response(null, { status: 401 });
  });
  const { secret: otherSecret } = await register("http://localhost:3001/", ["domain.updated"]);
  const { id: endpoint, secret: oldSecret } = await register(target, ["email.sent"]);
  const { secret } = await call(`POST endpoints/${endpoint}/rotate-secret`);
  await call("POST assumptions/A-09", { value: "none" });
  await send();
  await sandbox.clock.advance(0);
  const { id } = present((await opened.deliveries())[0]);
  /** Sends the delivery with another body, and returns the id of the new delivery. */
  const deliver = async (body: Uint8Array): Promise<string> => {
    const base64 = Buffer.from(body).toString("base64");
    const { delivery } = await call(`POST deliveries/${id}/send`, { body: { base64 } });
    await sandbox.clock.advance(0);
    return delivery.id;
  };
  return { ...opened, id: id, secret, oldSecret, otherSecret, arrived, deliver };
}

/** Whether an element's first line is in the window and in all boxes that scroll. */
const isInView = (locator: Locator): Promise<boolean> =>
  locator.evaluate((element) => {
    const { left, top } = element.getBoundingClientRect();
    const found = document.elementFromPoint(left + 20, top + 20);
    return found !== null && element.contains(found);
  });

/** Pastes a signature. Returns the id of the mistake that is named, if any, and the displayed text. */
async function explain(page: Page, value: string) {
  const verdict = "#signature .verdict[role=status]";
  await page.evaluate(
    (selector) => document.querySelector(selector)?.setAttribute("data-seen", ""),
    verdict,
  );
  await page.getByLabel("Paste the signature").fill(value);
  await page.getByRole("button", { name: "Explain" }).click();
  const shown = page.locator(`${verdict}:not([data-seen])`);
  await shown.waitFor();
  await expect.poll(() => isInView(shown)).toBe(true);
  return { id: await shown.getAttribute("data-mistake"), words: await lineOf(shown) };
}

/**
 * Returns whether the signature can be entered: the field has a single line and ignores surrounding spaces, which are
 * common in copied values.
 */
const canBePasted = ({ signature = "", secrets }: Planted) =>
  signature !== "" &&
  secrets === undefined &&
  (signature.trim() === "" || signature === signature.trim());

describeWithBrowser("the explanation of a signature", () => {
  test("names each planted mistake, and never blames the right value", async () => {
    const opened = await rotated();
    const all = plantMistakes(opened);
    const planted = all.filter(canBePasted);
    // This mistake cannot occur here, because the sandbox's secrets are not hexadecimal.
    const ids = new Set(all.map(({ id }) => id).filter((id) => id !== "secret_hex_decoded"));
    expect(new Set(planted.map(({ id }) => id))).toEqual(ids);
    const page = await openInspector(opened);
    const tried = eachNth(planted, 3);
    const texts = new Set(tried.map(({ body = compact }) => String(body)));
    for (const text of texts) {
      const rows = tried.filter(({ body = compact }) => String(body) === text);
      const bytes = Buffer.from(rows[0]?.body ?? compact);
      await page.goto(`/?item=${await opened.deliver(bytes)}`);
      for (const { id, how, signature = "" } of rows) {
        const found = await explain(page, signature);
        expect({ how, ...found }).toMatchObject({ how, id });
      }
      const right = await explain(page, ` ${signed(bytes, opened.secret)} `);
      expect({ text, ...right }).toEqual({
        text,
        id: null,
        words: expect.stringMatching(/^This signature is correct\./),
      });
      const random = await explain(page, signed(Buffer.from("random"), "random"));
      expect({ text, ...random }).toEqual({
        text,
        id: "unknown",
        words: expect.stringMatching(/^No match: none of \d+ known mistakes /),
      });
    }
  });

  test("shows where the bytes of the receiver differ", async () => {
    const opened = await rotated();
    const page = await openInspector(opened, `/?item=${opened.id}`);
    const text = JSON.stringify(JSON.parse(Buffer.from(opened.arrived[0] ?? []).toString()));
    const { words } = await explain(page, signed(Buffer.from(text), opened.secret));
    expect(words).toContain(
      `Your code signed ${text.length} bytes instead of the ${opened.arrived[0]?.length} that were sent.`,
    );
    expect(await page.locator(".diff mark").allInnerTexts()).toEqual(["␣", '"']);
    expect(await page.locator("#mine").inputValue()).toBe(signed(Buffer.from(text), opened.secret));
  });

  test("stays while the timeline changes, and goes with its attempt", async () => {
    const opened = await rotated();
    const page = await openInspector(opened, `/?item=${opened.id}`);
    await explain(page, "sha256=00");
    await opened.send({ subject: "Another email" });
    await page.locator("#calls .name", { hasText: "Another email" }).waitFor();
    expect(await page.locator("[data-mistake]").count()).toBe(1);
    await page.getByRole("button", { name: "Redeliver" }).click();
    await opened.sandbox.clock.advance(0);
    await page.getByRole("heading", { name: "Signature of attempt 2" }).waitFor();
    expect(await page.locator("[data-mistake]").count()).toBe(0);
  });

  test.each([
    ["wrong_secret", "signed with a wrong secret"],
    ["previous_secret", "signed with the previous secret"],
    ["flipped_byte", "one byte changed after signing"],
    ["missing_prefix", "signature without sha256="],
    ["missing_header", "no signature"],
    ["duplicate_header", "two signature headers"],
    ["reserialized", "body serialized again after signing"],
  ])("names what was tampered with on the attempt itself: %s", async (tamper, words) => {
    const opened = await rotated();
    const page = await openInspector(opened, `/?item=${opened.id}`);
    await page.locator("#tamper summary").click();
    await page.getByLabel("Choose what to break").selectOption(tamper);
    await page.getByRole("button", { name: "Send it tampered" }).click();
    await page.locator("#notice", { hasText: "The delivery is being sent." }).waitFor();
    await opened.sandbox.clock.advance(0);
    await page.getByRole("heading", { name: "Signature of attempt 2" }).waitFor();
    const unless =
      tamper === "previous_secret"
        ? ", unless it still accepts the previous secret after a rotation"
        : "";
    expect(await lineOf(page.locator("#signature .verdict"))).toBe(
      `Tampered: ${words}. A receiver must refuse this request${unless}.`,
    );
    expect(await lineOf(page.locator("#attempts tr.sel .ans"))).toBe(`401 ${words}`);
    expect(await lineOf(page.locator("#calls ol.track > li:last-child .chip"))).toBe(
      "2 failed: 401 tampered",
    );
    await page.getByRole("link", { name: "Attempt 1", exact: true }).click();
    await page.locator("#signature .verdict", { hasText: "Signed correctly." }).waitFor();
    await page.getByRole("link", { name: "Attempt 2", exact: true }).click();
    await page.getByRole("heading", { name: "Signature of attempt 2" }).waitFor();
    // This signature is correct for the body that arrived.
    const right = await explain(page, signed(opened.arrived[1] ?? Buffer.of(), opened.secret));
    expect(right.words).toMatch(/^This signature is correct\./);
  });
});
