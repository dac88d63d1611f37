import { codeIn, tableOf } from "@svc-webhooks/kit/tables";
import { expect, test } from "vitest";
import { declarationsOf } from "./declarations.js";
import { textOf } from "./readme.js";

const page = "packages/client/README.md";
const client = declarationsOf("@svc-webhooks/client");

/** Returns the rows of the table that follows a line; two tables have the same first column. */
const rowsAfter = (line: string): readonly string[] => {
  const [, after = ""] = textOf(page).split(line);
  const [table = ""] = /(?:^\|.*\n)+/m.exec(after) ?? [];
  return table.split("\n").slice(2, -1);
};
const namesIn = (rows: readonly string[]) =>
  rows.flatMap((row) => codeIn(row.split("|")[1] ?? "")).toSorted();

test("README lists the options of createClient", () => {
  expect(namesIn(rowsAfter("## Options"))).toEqual(client.propertiesOf("ClientOptions").toSorted());
});

test("README lists the options of a request", () => {
  const types = ["RequestOptions", "KeyedRequestOptions", "RedeliverOptions", "RotateOptions"];
  const options = new Set(types.flatMap((type) => client.propertiesOf(type)));
  expect(namesIn(rowsAfter("pass further options"))).toEqual([...options].toSorted());
});

test("README lists the classes of errors", () => {
  const classes = client.exports
    .filter(({ name, isType }) => /^[A-Z]\w*Error$/.test(name) && !isType)
    .map(({ name }) => name);
  expect(namesIn(rowsAfter("## Errors"))).toEqual(classes.toSorted());
});

test("README lists the codes of errors", () => {
  const codes = tableOf(page, "class").flatMap((row) => codeIn(row["code"] ?? ""));
  const fixed = codes.filter((code) => code !== "http_<status>");
  expect(fixed.toSorted()).toEqual(client.literalsOf("ErrorCode").toSorted());
});

test("README lists the properties of errors", () => {
  const [, sentence = ""] = /^Each error has (.*), if they are known/m.exec(textOf(page)) ?? [];
  const own = client.propertiesOf("SvcError").filter((name) => /^(?!__)[a-z]/i.test(name));
  const others = new Set(["name", "message", "stack", "code"]);
  expect(codeIn(sentence).toSorted()).toEqual(own.filter((name) => !others.has(name)).toSorted());
});
