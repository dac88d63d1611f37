import { expect, test } from "vitest";
import { errorOf, messageWith, messageSplitter, Reply, sqlOf } from "../../src/postgres.js";

test("messages are found wherever the stream is cut", () => {
  const messages = [messageWith("Q", "select 1"), messageWith("S"), messageWith("P", "a", "b")];
  const all = Buffer.concat(messages.map(({ bytes }) => bytes));
  for (let cut = 0; cut <= all.length; cut += 1) {
    const split = messageSplitter();
    expect([...split(all.subarray(0, cut)), ...split(all.subarray(cut))]).toEqual(messages);
  }
});

test("the caller decides after each message whether the next one has a type", () => {
  const startup = messageWith("", Buffer.from([0, 3, 0, 0]), "user", "me", "");
  const query = messageWith("Q", "select 1");
  const isTyped = [false, false, true, true];
  const split = messageSplitter(() => isTyped.shift() ?? false);
  const bytes = Buffer.concat([startup, startup, query].map((message) => message.bytes));
  expect([...split(bytes)]).toEqual([startup, startup, query]);
});

test("without its length, a message cannot be read", () => {
  const split = messageSplitter(() => false);
  const { bytes } = messageWith("", Buffer.from([0x04, 0xd2, 0x16, 0x2f]));
  expect([...split(bytes.subarray(0, 3))]).toEqual([]);
  expect([...split(bytes.subarray(3))]).toHaveLength(1);
});

test("the SQL text of a query or a prepared statement is read", () => {
  expect(sqlOf(messageWith("Q", "select 1"))).toBe("select 1");
  expect(sqlOf(messageWith("P", "s1", "select 2", Buffer.alloc(2)))).toBe("select 2");
  expect(sqlOf(messageWith("B", "", "s1"))).toBeUndefined();
});

test("a reply has the first error, the first value, the tags and the status", () => {
  const int32 = (value: number) => Buffer.from([0, 0, 0, value]);
  const row = (text: string) =>
    messageWith("D", Buffer.from([0, 1]), int32(text.length), Buffer.from(text));
  const none = messageWith("D", Buffer.from([0, 1]), Buffer.alloc(4, 255));
  const messages = [
    none,
    row("first"),
    row("second"),
    messageWith("C", "SELECT 3"),
    errorOf("ERROR", "22012", "division by zero"),
    errorOf("FATAL", "57P01", "later"),
    messageWith("Z", Buffer.from("E")),
  ];
  const reply = new Reply();
  for (const message of messages) reply.read(message);
  expect(reply).toEqual({
    status: "E",
    error: "division by zero",
    value: "first",
    tags: ["SELECT 3"],
  });
});
