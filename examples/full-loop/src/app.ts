import { createReceiver, type CommonOptions, type Handler } from "svc-webhooks";
import { webhooks } from "svc-webhooks/express";
import express, { type Express } from "express";

/** Creates an app that receives webhooks and calls `handle` with an email's event. */
export function createApp(handle: Handler, options: CommonOptions): Express {
  const receiver = createReceiver({ ...options, on: { "email.*": handle } });
  return express().post("/webhooks", webhooks(receiver));
}
