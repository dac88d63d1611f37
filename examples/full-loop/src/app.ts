import { createReceiver, type CommonOptions, type Handler } from "@svc-webhooks/core";
import { webhooks } from "@svc-webhooks/express";
import express, { type Express } from "express";

/** An app that receives webhooks. `handle` is what it does with an email's event. */
export function createApp(handle: Handler, options: CommonOptions): Express {
  const receiver = createReceiver({ ...options, on: { "email.*": handle } });
  return express().post("/webhooks", webhooks(receiver));
}
