import * as core from "@svc-webhooks/core";
import * as express from "@svc-webhooks/express";
import * as node from "@svc-webhooks/node";
import { expect, test } from "vitest";

const packages = { core, node, express };

test.each(Object.entries(packages))(
  "@svc-webhooks/%s exports what it exported before",
  (name, exports) => {
    expect(Object.keys(exports).toSorted()).toMatchSnapshot(name);
  },
);
