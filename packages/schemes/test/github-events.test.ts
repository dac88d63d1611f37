import { createReceiver } from "@svc-webhooks/core";
import { expect, expectTypeOf, test } from "vitest";
import { githubEvents, type GithubEvents } from "../src/github-events.js";
import { github } from "../src/index.js";

test("handlers of GitHub's events are typed by their names and actions", () => {
  const receiver = createReceiver({
    scheme: github(),
    secret: "a secret",
    events: githubEvents,
    log: () => {},
    on: {
      "issues.opened": ({ type, action, issue }) => {
        expectTypeOf(type).toEqualTypeOf<"issues.opened">();
        expectTypeOf(action).toEqualTypeOf<"opened">();
        expectTypeOf(issue.title).toEqualTypeOf<string>();
      },
      push: ({ commits }) => {
        expectTypeOf(commits[0]?.message).toEqualTypeOf<string | undefined>();
      },
    },
  });
  expect(receiver).toHaveProperty("receive");
  expectTypeOf<GithubEvents["ping"]["zen"]>().toEqualTypeOf<string>();
  expectTypeOf<"issues.opened" | "push" | "pull_request.closed">().toExtend<keyof GithubEvents>();
  expectTypeOf<"issues">().not.toExtend<keyof GithubEvents>();
});
