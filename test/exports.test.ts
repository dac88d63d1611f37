import * as core from "@svc-webhooks/core";
import * as events from "@svc-webhooks/events";
import * as express from "@svc-webhooks/express";
import * as hono from "@svc-webhooks/hono";
import * as next from "@svc-webhooks/next";
import * as nextPages from "@svc-webhooks/next/pages";
import * as node from "@svc-webhooks/node";
import * as testing from "@svc-webhooks/testing";
import { expect, test } from "vitest";

const packages = {
  core,
  events,
  node,
  express,
  hono,
  next,
  "next/pages": nextPages,
  testing,
};

test.each(Object.entries(packages))(
  "@svc-webhooks/%s exports what it exported before",
  (name, exports) => {
    expect(Object.keys(exports).toSorted()).toMatchSnapshot(name);
  },
);
