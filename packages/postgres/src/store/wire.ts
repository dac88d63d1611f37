import { createHash } from "node:crypto";
import type { ClaimResult, RecordState } from "@svc-webhooks/core";
import { unexpected } from "../database.js";

/*
 * These functions convert values of a `DeliveryStore`'s calls to and from the texts that the functions in `schema.sql`
 * use.
 */

/**
 * Returns the key of the record as 32 hex digits, a form of a UUID. Receivers' keys have this form; any other key is
 * hashed to that form.
 */
export function uuid(key: string): string {
  if (/^[0-9a-f]{32}$/.test(key)) return key;
  return createHash("sha256").update(key).digest("hex").slice(0, 32);
}

/** Encodes text, because PostgreSQL text cannot contain NUL. Receivers' tokens and lineages stay unchanged. */
export const encoded = (text = ""): string => (/^[\w-]*$/.test(text) ? text : JSON.stringify(text));

const decoded = (text: string): string =>
  text.startsWith('"') ? (JSON.parse(text) as string) : text;

export function claimResult(reply: string): ClaimResult {
  const rest = reply.slice(1);
  switch (reply.charAt(0)) {
    case "c": {
      const [fence, run, mark] = rest.split(" ");
      return { status: "claimed", fence: Number(fence), run: Number(run), takenOver: mark === "t" };
    }
    case "b":
      return { status: "busy", leaseLeftMs: Number(rest) };
    case "d":
      return { status: "done", lineage: decoded(rest) || undefined };
    case "p":
      return { status: "parked", lineage: decoded(rest) || undefined };
    default:
      throw unexpected("a claim", reply);
  }
}

const states: Readonly<Record<string, RecordState | undefined>> = {
  r: "running",
  f: "failed",
  p: "parked",
  d: "done",
  "-": undefined,
};

export function statesOf(reply: string, count: number): readonly (RecordState | undefined)[] {
  const letters = Array.from(reply);
  if (letters.length !== count || !letters.every((letter) => Object.hasOwn(states, letter))) {
    throw unexpected("a peek", reply);
  }
  return letters.map((letter) => states[letter]);
}
