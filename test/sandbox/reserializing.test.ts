import { createHmac, timingSafeEqual } from "node:crypto";
import type { RequestListener } from "node:http";
import { expresses } from "@svc-webhooks/kit/servers";
import { describe, expect, onTestFinished, test } from "vitest";
import { serve } from "./receivers.js";
import { startService } from "./service.js";

/** Starts a receiver with the common mistake: it parses the body first, and signs the parser's result. */
async function startMistaken({ express }: (typeof expresses)[number]) {
  const statuses: number[] = [];
  const handled: string[] = [];
  let secret = "";
  const app = express();
  app.use(express.json());
  app.post("/webhooks", (request, response) => {
    const text = JSON.stringify(request.body);
    const expected = Buffer.from(
      `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`,
    );
    const given = Buffer.from(request.get("x-svc-signature") ?? "");
    const isGenuine = given.length === expected.length && timingSafeEqual(given, expected);
    if (isGenuine) handled.push((request.body as { readonly type: string }).type);
    statuses.push(isGenuine ? 200 : 401);
    response.sendStatus(isGenuine ? 200 : 401);
  });
  const { origin, close } = await serve(app as RequestListener);
  onTestFinished(async () => void (await close()));
  return {
    url: `${origin}/webhooks`,
    statuses,
    handled,
    setSecret: (value: string) => void (secret = value),
  };
}

const attempts = (count: number, status: number) => Array.from({ length: count }, () => status);

describe.each(expresses)("a receiver in $name that reserializes the parsed body", (version) => {
  test("refuses every attempt with the default bytes, so that both deliveries fail", async () => {
    const mistaken = await startMistaken(version);
    const service = await startService(mistaken.url);
    mistaken.setSecret(service.secret);

    const sendId = await service.sendEmail();
    await service.advance(0);
    await service.advance(3_600_000);
    expect(await service.events()).toMatchObject([
      { type: "email.sent", status: "failed", attempts: 5, next_attempt_at: null },
      { type: "email.delivered", status: "failed", attempts: 5, next_attempt_at: null },
    ]);
    expect(mistaken.statuses).toEqual(attempts(10, 401));
    expect(mistaken.handled).toEqual([]);
    // Mail is independent of webhooks.
    expect((await service.getSend(sendId)).status).toBe("delivered");
  });

  test("accepts compact bytes, which would hide the mistake", async () => {
    const mistaken = await startMistaken(version);
    const service = await startService(mistaken.url, { "A-25": "compact" });
    mistaken.setSecret(service.secret);

    await service.sendEmail();
    await service.advance(0);
    expect(await service.events()).toMatchObject([
      { status: "succeeded", attempts: 1 },
      { status: "succeeded", attempts: 1 },
    ]);
    expect(mistaken.statuses).toEqual(attempts(2, 200));
    expect(mistaken.handled.toSorted()).toEqual(["email.delivered", "email.sent"]);
  });
});
