import { messageWith } from "@svc-webhooks/crash-test/postgres";
import { describe, expect, test } from "vitest";
import { Statements, startupParameters } from "../../src/crash-test/proxies/messages.js";
import { factsOf } from "../../src/crash-test/proxies/http.js";
import { endOfValue, factsOfCommand, wordsOf } from "../../src/crash-test/proxies/redis.js";

describe("PostgreSQL", () => {
  test("the parameters of a startup message are read", () => {
    const version = Buffer.from([0, 3, 0, 0]);
    const message = messageWith("", version, "user", "me", "database", "app", "");
    expect(startupParameters(message)).toEqual({ user: "me", database: "app" });
  });

  test("a statement is the one that is bound, also if it was prepared before", () => {
    const statements = new Statements();
    const read = (type: string, ...texts: readonly string[]) =>
      statements.read(messageWith(type, ...texts));
    expect(read("P", "s1", "insert into orders values ($1)")).toBeUndefined();
    expect(read("B", "", "s1")).toBe("insert into orders values ($1)");
    expect(read("P", "", "select 1")).toBeUndefined();
    expect(read("B", "", "")).toBe("select 1");
    expect(read("B", "", "s1")).toBe("insert into orders values ($1)");
    expect(read("Q", "begin")).toBe("begin");
    expect(read("E", "")).toBeUndefined();
  });
});

describe("HTTP", () => {
  const facts = (method: string, url: string, headers = {}, body = "") =>
    factsOf("PAY_URL", { method, url, headers }, body);

  test.each([
    ["/charges?x=1", "POST PAY_URL/charges"],
    ["/orders/12/lines", "POST PAY_URL/orders/:id/lines"],
    ["/events/evt_doctor_1f0c7d9e-aaaa", "POST PAY_URL/events/:id"],
    ["/", "POST PAY_URL"],
  ])("%s is named %s", (url, name) => {
    expect(facts("POST", url)).toMatchObject({ name, effects: [name], identity: undefined });
  });

  test("a key is read, GET and HEAD have no effect, and the same PUT has one", () => {
    expect(facts("POST", "/", { "idempotency-key": "k" }).key).toBe("k");
    for (const method of ["GET", "HEAD"]) expect(facts(method, "/").effects).toEqual([]);
    const { identity } = facts("PUT", "/a", {}, "1");
    expect(identity).toBe(facts("PUT", "/a", {}, "1").identity);
    expect(identity).not.toBe(facts("PUT", "/a", {}, "2").identity);
    expect(identity).not.toBe(facts("DELETE", "/a", {}, "1").identity);
  });
});

describe("Redis", () => {
  test.each([
    ["a command", "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"],
    ["an empty text", "*2\r\n$3\r\nGET\r\n$0\r\n\r\n"],
    ["a line", "PING\r\n"],
    ["a number", ":12\r\n"],
    ["nothing", "$-1\r\n"],
    ["a nested list", "*2\r\n*1\r\n:1\r\n$2\r\n\r\n\r\n"],
    ["a map", "%1\r\n+a\r\n:1\r\n"],
    ["an attribute with its value", "|1\r\n+a\r\n:1\r\n:2\r\n"],
  ])("%s ends where it ends, and not before", (_what, text) => {
    const bytes = Buffer.from(`${text}+OK\r\n`);
    expect(endOfValue(bytes, 0)).toBe(text.length);
    for (let cut = 0; cut < text.length; cut += 1) {
      expect(endOfValue(bytes.subarray(0, cut), 0)).toBeUndefined();
    }
  });

  test("a command is named with the start of its key", () => {
    const command = Buffer.from("*3\r\n$6\r\nincrby\r\n$7\r\nmail:42\r\n$1\r\n1\r\n");
    expect(wordsOf(command)).toEqual(["incrby", "mail:42", "1"]);
    expect(factsOfCommand(wordsOf(command))).toMatchObject({
      name: "INCRBY mail",
      effects: ["INCRBY mail"],
    });
    expect(factsOfCommand(["evalsha", "abc", "1", "svc:{1}"]).name).toBe("EVALSHA svc");
    expect(factsOfCommand(["set", "a", "1"]).effects).toEqual([]);
  });
});

test("the secret path of a webhook's URL is not part of a name", () => {
  const url = "/services/T000/B000/XXSECRETXX";
  const { name } = factsOf("SLACK_URL", { method: "POST", url, headers: {} }, "", url);
  expect(name).toBe("POST SLACK_URL/services/…/…/…");
});
