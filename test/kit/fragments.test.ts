import { expect, test } from "vitest";
import { fragmentOf, fragmentsOf } from "./fragments.js";

// By GitHub's rule: the text in lower case, without punctuation, and a hyphen for each space.
test.each([
  ["Every code", "every-code"],
  ["What it can repair, and what it cannot", "what-it-can-repair-and-what-it-cannot"],
  ["`in_flight`, crash, takeover", "in_flight-crash-takeover"],
  ["`receive(delivery)` → `Promise<Outcome>`", "receivedelivery--promiseoutcome"],
  ["A link to [`receive`](docs/x.md#y) and [a page](z.md)", "a-link-to-receive-and-a-page"],
  ["The _fixed_ and **bold** my_own_name", "the-fixed-and-bold-my_own_name"],
  ["Q&amp;A <br>2 – 3", "qa-2--3"],
  ["Größe", "größe"],
])("the heading %s has the fragment %s", (heading, fragment) => {
  expect(fragmentOf(heading)).toBe(fragment);
});

test("repeated headings are numbered, and lines in code are not headings", () => {
  const page = "# Errors\n\n## Errors\n\n```sh\n# Errors\n```\n\n## Errors ##\n\n### Other\n";
  expect(fragmentsOf(page)).toEqual(["errors", "errors-1", "errors-2", "other"]);
});
