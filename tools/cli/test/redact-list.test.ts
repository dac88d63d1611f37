import { describe, expect, test } from "vitest";
import { createRedactor } from "../src/redact/redactor.js";

function redacted(event: object): string {
  const body = JSON.stringify(event);
  return createRedactor({ key: new Uint8Array(32) }).json(body);
}

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
