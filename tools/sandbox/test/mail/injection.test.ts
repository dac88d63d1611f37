import { expect, test } from "vitest";
import { mailbox, noteOf } from "./mailbox.js";
import { email, open } from "../support.js";

test.each([
  ["a line break in the subject", { subject: "Hello\r\nBcc: eve@example.test" }],
  ["a bare line feed in the subject", { subject: "Hello\nBcc: eve@example.test" }],
  ["a line separator in the subject", { subject: "Hello\u2028Bcc: eve@example.test" }],
  ["NUL in the subject", { subject: "Hello\u0000" }],
  ["a line break in from", { from: "ada@example.test\r\nBcc: eve@example.test" }],
  ["a display name in from", { from: "Eve <eve@example.test>" }],
  ["a list in from", { from: "ada@example.test,eve@example.test" }],
  ["a command in a recipient", { to: ["ada@example.test>\r\nRCPT TO:<eve@example.test"] }],
  ["a list in a recipient", { to: ["ada@example.test, eve@example.test"] }],
  ["a group in a recipient", { to: ["all:ada@example.test;"] }],
])("refuses %s, and relays nothing", async (_name, part) => {
  const { mails, smtp } = await mailbox();
  const running = await open({ smtp });
  const { status } = await running.send(part);
  expect(status).toBe(400);
  expect(await noteOf(running)).toMatch(/^relayed/);
  expect(mails).toHaveLength(1);
});

const usualHeaders = ["From", "To", "Subject", "Message-ID"];

test.each([
  ["an encoded word in the subject", { subject: "=?utf-8?Q?a=0D=0ABcc:_eve@example.test?=" }],
  ["a header in the subject", { subject: "Subject: a Bcc: eve@example.test" }],
  ["300 emoji in the subject", { subject: "📨".repeat(300) }],
  ["the end of the message in the text", { text: "a\r\n.\r\nRCPT TO:<eve@example.test>\r\n" }],
  ["headers in the text", { text: "Bcc: eve@example.test\r\n\r\nHello", html: undefined }],
  ["a file and an address in the html", { html: '<img src="file:///etc/passwd"><img src="/x">' }],
  ["an address in other letters", { to: ["grüße@bücher.example.test"] }],
])("%s adds no header and no recipient", async (_name, part) => {
  const { mails, smtp } = await mailbox();
  const body = { ...email, ...part };
  expect(await noteOf(await open({ smtp }), part)).toMatch(/^relayed/);
  expect(mails).toHaveLength(1);
  const names = mails[0]?.headers.map(([name]) => name) ?? [];
  expect(names.slice(0, 4)).toEqual(usualHeaders);
  expect(names.filter((name) => /^(?:b?cc|to|from|subject)$/i.test(name))).toHaveLength(3);
  expect(mails[0]?.to).toHaveLength(body.to.length);
  expect(mails[0]?.raw).not.toContain("root:");
});
