import { freePort } from "@svc-webhooks/kit/free-port";
import { ownTime } from "@svc-webhooks/kit/own-time";
import { until } from "@svc-webhooks/kit/until";
import { createSandbox, type Sandbox } from "@svc-webhooks/sandbox";
import { describe, expect, onTestFinished, test } from "vitest";
import { resolveOptions } from "../../src/options.js";
import { createRelay } from "../../src/mail/relay.js";
import { badServer, historyOf, mailbox, noteOf } from "./mailbox.js";
import { email, newFile, open, subscribed } from "../support.js";
import { newWorld } from "../world.js";

test("an accepted email reaches the SMTP server with its addresses, subject and bodies", async () => {
  const { mails, smtp } = await mailbox();
  const running = await open({ smtp });
  const { body } = await running.send();
  await until(() => mails.length === 1, "the email has arrived");
  const [mail] = mails;
  expect(mail).toMatchObject({ from: email.from, to: email.to, isSecure: false });
  expect(mail?.user).toBeFalsy();
  expect(mail?.headers).toEqual([
    ["From", email.from],
    ["To", email.to.join(", ")],
    ["Subject", email.subject],
    ["Message-ID", `<${body.message_id}@sandbox.test>`],
    ["Date", expect.stringMatching(/ \+0000$/)],
    ["MIME-Version", "1.0"],
    ["Content-Type", expect.stringMatching(/^multipart\/alternative/)],
  ]);
  expect(mail?.raw).toContain(email.text);
  expect(mail?.raw).toContain(email.html);
});

test("the result is one line in the history, and changes nothing else", async () => {
  const { smtp } = await mailbox();
  const running = await subscribed(200, { smtp });
  const { body } = await running.send();
  const place = smtp.slice("smtp://".length);
  await until(
    async () => (await historyOf(running, body.send_id)).history.length === 4,
    "the email is relayed",
  );
  const { status, history } = await historyOf(running, body.send_id);
  expect(status).toBe("delivered");
  expect(history.filter(({ note }) => note === undefined).map((entry) => entry.status)).toEqual([
    "accepted",
    "sent",
    "delivered",
  ]);
  expect(history.find(({ note }) => note !== undefined)).toMatchObject({
    status: expect.stringMatching(/^(?:accepted|sent|delivered)$/),
    note: `relayed to ${place}`,
  });
  await running.sandbox.clock.advance(0);
  expect(running.got.map(({ headers }) => headers["x-svc-attempt"])).toEqual(["1", "1"]);
});

test.each([
  {
    named: "nothing is listening",
    start: async () => ({ smtp: `smtp://127.0.0.1:${await freePort()}` }),
    note: /^relay failed: nothing is listening on 127\.0\.0\.1:\d+$/,
  },
  {
    named: "the server closes the connection",
    start: () => badServer((socket) => socket.end()),
    note: /^relay failed: 127\.0\.0\.1:\d+ closed the connection$/,
  },
  {
    named: "the server resets the connection",
    start: () => badServer((socket) => socket.resetAndDestroy()),
    note: /^relay failed: 127\.0\.0\.1:\d+ closed the connection$/,
  },
  {
    named: "the server refuses everybody",
    start: () => badServer((socket) => socket.end("554 <script>go away</script>\r\n")),
    note: /^relay failed: 127\.0\.0\.1:\d+ responded 554$/,
  },
  {
    named: "another protocol is spoken",
    start: () => badServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")),
    note: /^relay failed: 127\.0\.0\.1:\d+ is not an SMTP server$/,
  },
  {
    named: "the server refuses all recipients",
    start: () =>
      mailbox({ onRcptTo: (_address, _session, callback) => callback(new Error("secret text")) }),
    note: /^relay failed: 127\.0\.0\.1:\d+ responded 550$/,
  },
  {
    named: "the server refuses one recipient",
    start: () =>
      mailbox({
        onRcptTo: ({ address }, _session, callback) =>
          callback(address.startsWith("grace") ? new Error("no") : null),
      }),
    note: /^relayed to 127\.0\.0\.1:\d+, which rejected 1 of 2 recipients$/,
  },
])("notes it when $named, and delivers the events", async ({ start, note }) => {
  const { smtp } = await start();
  const running = await subscribed(200, { smtp });
  expect(await noteOf(running)).toMatch(note);
  await running.sandbox.clock.advance(0);
  expect(running.got).toHaveLength(2);
});

describe("a server without SMTPUTF8", () => {
  test.each([
    ["a sender", { from: "jürgen@example.test" }],
    ["a recipient", { to: ["grace@example.test", "用户@example.test"] }],
    ["a sender in a domain of other letters", { from: "jürgen@bücher.example.test" }],
  ])("is sent no email with %s that is not ASCII", async (_what, part) => {
    const addresses: string[] = [];
    const { mails, smtp } = await mailbox({
      hideSMTPUTF8: true,
      onMailFrom({ address }, _session, callback) {
        addresses.push(address);
        callback();
      },
    });
    const place = smtp.slice("smtp://".length);
    const note = await noteOf(await open({ smtp }), part);
    expect(note).toBe(`relay failed: ${place} does not support SMTPUTF8`);
    expect([addresses, mails]).toEqual([[], []]);
  });

  test("receives domains in Punycode", async () => {
    const { mails, smtp } = await mailbox({ hideSMTPUTF8: true });
    const part = { from: "ada@bücher.example.test", to: ["grace@例え.example.test"] };
    expect(await noteOf(await open({ smtp }), part)).toMatch(/^relayed to /);
    expect(mails[0]?.headers.slice(0, 2)).toEqual([
      ["From", "ada@xn--bcher-kva.example.test"],
      ["To", "grace@xn--r8jz45g.example.test"],
    ]);
  });
});

test("a server that hangs delays no response, no event and no close", async () => {
  const { smtp, sockets } = await badServer((socket) => socket.resume());
  const running = await subscribed(200, { smtp });
  const startedAt = ownTime();
  for (let n = 0; n < 20; n += 1) {
    expect((await running.send()).status).toBe(202);
  }
  await running.sandbox.clock.advance(0);
  expect(running.got).toHaveLength(40);
  await until(() => sockets.size === 3, "three connections hang");
  await running.sandbox.close();
  await until(() => sockets.size === 0, "no connection keeps the process alive");
  // A single email may take up to 10 s.
  expect(ownTime() - startedAt).toBeLessThan(5_000);
});

test("gives up on a server that sends a byte now and then", async () => {
  const { smtp } = await badServer((socket) => {
    const timer = setInterval(() => socket.write("2"), 20);
    socket.on("close", () => clearInterval(timer));
  });
  const world = newWorld();
  const relay = createRelay(resolveOptions({ smtp }).smtp, world, 300);
  onTestFinished(() => relay.close());
  const send = world.state.sends.put({
    id: "send_1",
    account: "default",
    callId: "call_1",
    emailId: "msg_1",
    messageId: "msg_2",
    messageClass: "transactional",
    createdAt: 0,
    status: "accepted",
    history: [],
    next: [],
    ...email,
  });
  relay.send(send.id);
  await until(() => send.history.length === 1, "the relay has given up");
  expect(send.history[0]?.note).toMatch(/^relay failed: .+ did not finish within 0\.3 s$/);
});

test("relays at most three emails at a time, in the order of their sends", async () => {
  const order: number[] = [];
  let running = 0;
  let most = 0;
  const { smtp, mails } = await mailbox({
    onConnect(_session, callback) {
      running += 1;
      most = Math.max(most, running);
      callback();
    },
    onMailFrom({ address }, _session, callback) {
      order.push(Number(/\d+/.exec(address)?.[0]));
      callback();
    },
    onClose() {
      running -= 1;
    },
  });
  const { send } = await open({ smtp });
  for (let n = 0; n < 20; n += 1) {
    await send({ from: `ada${n}@example.test` });
  }
  await until(() => mails.length === 20, "all emails have arrived");
  expect(most).toBeLessThanOrEqual(3);
  expect(order).toHaveLength(20);
  expect(order.filter((sent, place) => Math.abs(sent - place) > 2)).toEqual([]);
});

test("relays nothing again for a repeated request or after a restart", async () => {
  const { mails, smtp } = await mailbox();
  const options = { smtp, data: newFile() };
  const same = { "idempotency-key": "same" };
  const first = await open(options);
  await first.send({}, same);
  await until(() => mails.length === 1, "the email has arrived");
  await first.send({}, same);
  await first.sandbox.close();
  const second = await open(options);
  await second.send({}, same);
  await noteOf(second, { subject: "Another" });
  expect(mails.map(({ headers }) => headers[2])).toEqual([
    ["Subject", email.subject],
    ["Subject", "Another"],
  ]);
});

test.each([
  "smtp://mail.example.test:25",
  "smtp://127.0.0.1.example.test:25",
  "smtp://10.0.0.1:1025",
  "smtp://0.0.0.0:1025",
  "smtp://127.0.0.1",
  "smtp://127.0.0.1:0",
  "smtp://127.0.0.1:65536",
  "smtp://user:s3cret@127.0.0.1:1025",
  "smtps://127.0.0.1:1025",
  "http://127.0.0.1:1025",
  "smtp://127.0.0.1:1025/?disableFileAccess=false",
  "127.0.0.1:1025",
  "",
])("refuses to relay to %j, and names the fix", (smtp) => {
  let sandbox: Sandbox | undefined;
  const create = () => {
    sandbox = createSandbox({ smtp });
  };
  expect(create).toThrow(
    /^`smtp` must be the URL of a server on this machine, such as smtp:\/\/127\.0\.0\.1:1025,/,
  );
  expect(create).not.toThrow(/s3cret/);
  expect(sandbox).toBeUndefined();
});

test.each(["localhost", "127.0.0.1"])("relays to %s", async (host) => {
  const { mails, smtp } = await mailbox();
  expect(await noteOf(await open({ smtp: smtp.replace("127.0.0.1", host) }))).toMatch(/^relayed/);
  expect(mails).toHaveLength(1);
});
