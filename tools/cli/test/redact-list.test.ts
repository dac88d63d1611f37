import { describe, expect, test } from "vitest";
import { createRedactor } from "../src/redact/redactor.js";

const key = new Uint8Array(32);

const rewritten = (body: string): string => createRedactor({ key }).json(body);

const redacted = (event: object): string => rewritten(JSON.stringify(event));

/** Returns whether a redacted event still has a text. */
const keeps = (event: object, text: string): boolean => redacted(event).includes(text);

const sensitive = "hunter2hunter";

describe("replaces", () => {
  test.each([
    [{ reason: `login failed with password=${sensitive}` }, sensitive],
    [{ result: `api_key: ${sensitive}` }, sensitive],
    [{ reason: "Cookie: sid=abcdef12345" }, "abcdef12345"],
    [{ reason: "signed with 5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8" }, "5baa61e4c9b93f3f"],
    [{ env: `DB_PASSWORD=${sensitive}` }, sensitive],
    [{ name: "Zebulon Quux", reason: "Quux canceled" }, "Quux"],
  ])("a text in a member that often has a single word: %j", (event, text) => {
    expect(keeps(event, text)).toBe(false);
  });

  test.each([
    ['password: "correct horse battery staple"', "battery staple"],
    ["DB_PASSWORD=abc,defgh;ijkl", "defgh;ijkl"],
    ['Failed: {"password":"abc,defgh ijkl"}', "defgh ijkl"],
    [`password:  ${sensitive}`, sensitive],
    [`PASSWORD := ${sensitive}`, sensitive],
    [`password => ${sensitive}`, sensitive],
    ['Received: {"first_name":"Zebulon"}', "Zebulon"],
  ])("the whole value in a text: %s", (x, text) => {
    expect(keeps({ data: { x } }, text)).toBe(false);
  });

  test.each(
    "userpassword dbpassword smtppassword sharedsecret apitoken usertoken encryptionkey DBPASSWORD PGPASSWORD MYSQLPWD companyname contactname recipientname".split(
      " ",
    ),
  )("a name whose words are written together: %s", (name) => {
    expect(keeps({ data: { [name]: "Zebulon" } }, "Zebulon")).toBe(false);
  });

  test.each(["from", "to", "cc", "reply_to"])("a name without an address: %s", (name) => {
    expect(keeps({ data: { [name]: "Zebulon Quux" } }, "Quux")).toBe(false);
  });

  test.each([
    [{ date_of_birth: "1985-12-10", x: "born 1985-12-10" }, "1985-12-10"],
    [{ date_of_birth: "1985-12-10", x: "10/12/1985" }, "10/12/1985"],
    [{ city: "Quuxville", x: "I live in Quuxville" }, "Quuxville"],
  ])("a value elsewhere: %j", (event, text) => {
    expect(keeps(event, text)).toBe(false);
  });

  test.each([
    [{ tokens: { AbCdEf123456: {} } }, "AbCdEf123456"],
    [{ names: { "Zebulon Quux": 1 } }, "Quux"],
  ])("the name of a member: %j", (event, text) => {
    expect(keeps(event, text)).toBe(false);
  });

  test.each([
    ["a telephone number", 15558675309],
    ["a card number", 4111111111111111],
    ["a pin", 4711],
    ["a latitude", 52.520008],
    ["a longitude", -13.404954],
  ])("%s as a number", (_what, x) => {
    expect(keeps({ data: { x } }, String(Math.abs(x)))).toBe(false);
  });

  test.each(["1E5", "1e21", "-1e3", "1.0e7", "1e400", "1e-3", "1e4111111111111111"])(
    "a number with an exponent: %s",
    (text) => {
      const after = rewritten(text);
      expect(JSON.parse(after)).toEqual(expect.any(Number));
      expect(after).not.toBe(text);
    },
  );

  test("all but three digits of an exponent", () => {
    expect(rewritten("[2e4111111111111111,0e4111,1e00]")).toBe("[1e411,0,1]");
  });

  test.each([
    "4111\u20111111\u20111111\u20111111",
    "4111\u20131111\u20131111\u20131111",
    "4111.1111.1111.1111",
    "card_4111111111111111",
    "DE89-3704-0044-0532-0130-00",
    "0x5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8",
  ])("a form with other separators: %s", (text) => {
    expect(keeps({ data: { x: text } }, text)).toBe(false);
  });
});

describe("replaces, however many and long they are,", () => {
  /** Marks with no letter or digit, different for each index. */
  const marks = (index: number) =>
    index.toString(2).padStart(8, "0").replaceAll("0", "!").replaceAll("1", "?");

  test.each([
    ["passwords of punctuation", (index: number) => `#${marks(index)}#`],
    ["passwords with the same words", (index: number) => `hunter2${marks(index)}hunter`],
  ])("%s", (_title, passwordOf) => {
    const passwords = Array.from({ length: 200 }, (_, index) => passwordOf(index));
    const event = {
      users: passwords.map((password) => ({ password })),
      x: passwords.map((password) => `logged in with ${password}`),
    };
    const written = redacted(event);
    expect(passwords.filter((password) => written.includes(password))).toEqual([]);
  });

  test.each(["password", "id", "event_type"])("a value under a long name of the word %s", (end) => {
    const name = `${"a_".repeat(300)}${end}`;
    expect(keeps({ data: { [name]: "Zebulon" } }, "Zebulon")).toBe(false);
  });

  test("a label that is too long for a name", () => {
    const name = `Zebulon Quux ${"data ".repeat(200)}`;
    expect(keeps({ fields: [{ name, value: "v" }] }, "Quux")).toBe(false);
  });
});

test.each(["0", "1", "-1", "-0.0000", "1.00"])("%s stays", (text) => {
  expect(rewritten(`[${text}]`)).toBe(`[${text}]`);
});

test("a name that --keep lists stays even if it is long", () => {
  const event = { [`a_${"b".repeat(100)}`]: "Zebulon" };
  const keep = Object.keys(event);
  expect(createRedactor({ key, keep }).json(JSON.stringify(event))).toBe(JSON.stringify(event));
});

describe("in a form, replaces", () => {
  test.each([
    ["a text without =", "verysecretpassword", /^[a-z]{18}$/],
    ["a part without =", "token=abc&alicesmith&note=", /^token=[a-z]{3}&[a-z]{10}&note=$/],
    [
      "the texts of JSON in a part without =",
      '{"name":"verysecret"}&a=',
      /^%7B%22name%22%3A%22[a-z]{10}%22%7D&a=$/,
    ],
    ["an encoded part without =", "%61lice+smith", /^[a-z]{5}\+[a-z]{5}$/],
  ])("%s", (_what, text, after) => {
    const form = createRedactor({ key }).form(text);
    expect(form).toMatch(after);
    expect(form).not.toMatch(/verysecret|alice|smith/);
  });
});
