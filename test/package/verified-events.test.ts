import { pathToFileURL } from "node:url";
import { memoryStore, type DeliveryStore, type Receiver } from "@svc-webhooks/core";
import { senders } from "@svc-webhooks/schemes/senders";
import { beforeEach, expect, test, vi } from "vitest";
import { codeBlocks, compileBlocks } from "./readme.js";

interface Message {
  readonly messageId: string;
  readonly body: string;
}

interface Pages {
  readonly consumerOn: (
    store: DeliveryStore,
  ) => (event: { readonly Records: readonly Message[] }) => Promise<object>;
  readonly mailOn: (store: DeliveryStore) => Receiver;
}

const blocks = ["docs/verified-events.md", "docs/lists.md"].flatMap(codeBlocks);
const { modulePath } = await compileBlocks(blocks);
const modules = await Promise.all(
  blocks.map((block) => import(pathToFileURL(modulePath(block)).href) as Promise<Partial<Pages>>),
);
const { consumerOn, mailOn } = Object.assign({}, ...modules) as Pages;

/** The lines of the handlers. */
const lines: string[] = [];
beforeEach(() => {
  lines.length = 0;
  vi.spyOn(console, "log").mockImplementation((...line) => void lines.push(line.join(" ")));
  for (const level of ["info", "warn", "error"] as const) {
    vi.spyOn(console, level).mockReturnValue();
  }
  return () => vi.restoreAllMocks();
});

test("the consumer of SQS handles an event of two messages once, and reports what has failed", async () => {
  const paid = (messageId: string, id?: string) => ({
    messageId,
    body: JSON.stringify({ type: "order.paid", id }),
  });
  const consume = consumerOn(memoryStore());
  const Records = [
    paid("m1", "ord_1"),
    paid("m2", "ord_1"),
    paid("m3", "ord_2"),
    paid("m4"),
    { messageId: "m5", body: "not JSON" },
  ];
  expect(await consume({ Records })).toEqual({
    batchItemFailures: [{ itemIdentifier: "m4" }, { itemIdentifier: "m5" }],
  });
  expect(lines).toEqual([
    expect.stringMatching(/^order\.paid [\da-f]{32}$/),
    expect.stringMatching(/^order\.paid [\da-f]{32}$/),
  ]);
  expect(new Set(lines).size).toBe(2);
});

test("the receiver of SendGrid handles each event once, although a retry has other values of sg_event_id", async () => {
  const { sign, testKeys } = senders.sendgrid;
  const { secret, signingSecret } = await testKeys();
  vi.stubEnv("SENDGRID_VERIFICATION_KEY", secret);
  const receiver = mailOn(memoryStore());
  vi.unstubAllEnvs();
  // SendGrid's `type` of a bounce is its kind.
  const bounce = { email: "ada@example.test", event: "bounce", type: "blocked", timestamp: 1 };
  const send = async (attempt: number) => {
    const list = [
      { ...bounce, sg_message_id: "m1", sg_event_id: `1-${attempt}` },
      { ...bounce, sg_message_id: "m2", sg_event_id: `2-${attempt}` },
      { ...bounce, sg_message_id: "", sg_event_id: `3-${attempt}` },
      { ...bounce, sg_message_id: "m1", event: "open", sg_event_id: `4-${attempt}` },
    ];
    const body = Buffer.from(JSON.stringify(list));
    const headers = await sign(body, { secret: signingSecret });
    const { code } = await receiver.receive({ method: "POST", headers, body });
    return [code, lines.length];
  };
  expect(await send(1)).toEqual(["processed", 3]);
  expect(await send(2)).toEqual(["processed", 3]);
});
