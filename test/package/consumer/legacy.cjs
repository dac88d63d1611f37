// @ts-check
const http = require("node:http");
const { createReceiver } = require("@svc-webhooks/core");
const { emailEvents } = require("@svc-webhooks/events");
const expressAdapter = require("@svc-webhooks/express");
const nodeAdapter = require("@svc-webhooks/node");
const express = require("express");
const { deliver, secret } = require("./deliver.js");

const receiver = createReceiver({
  secret,
  events: emailEvents,
  on: { "email.delivered": (event) => event.data?.email_id },
});
express().post("/webhooks", expressAdapter.webhooks(receiver));
http.createServer(nodeAdapter.webhooks(receiver));

// @ts-expect-error: required modules have types
exports.notAny = () => createReceiver({ secret, on: {}, events: emailEvents, dedupeBy: "luck" });

void deliver(receiver.fetch, "email.delivered").then(console.log);
