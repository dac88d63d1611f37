import { createHash } from "node:crypto";
import { ApiError, invalid } from "../errors.js";
import type { IdempotencyRecord } from "../state/records.js";
import type { Service } from "./service.js";

const retentionMs = 24 * 3_600_000;

/** The limits on the stored keys, and on the characters of all their responses. The oldest keys are dropped first. */
const mostKeys = 100_000;
const mostCharacters = 64 * 1_048_576;

/** The maximum length of a key, in characters. */
export const longestKey = 256;

/** Returns the idempotency key of a request that creates a send. @throws ApiError 400 if it is missing or too long */
export function readIdempotencyKey(header: string | null): string {
  const key = header?.trim() ?? "";
  if (key === "") {
    throw new ApiError(400, "missing_idempotency_key", "The header Idempotency-Key is required.", {
      param: "Idempotency-Key",
    });
  }
  if (key.length > longestKey) {
    throw invalid("Idempotency-Key", `Idempotency-Key must have at most ${longestKey} characters.`);
  }
  return key;
}

const hashOf = (value: unknown) =>
  createHash("sha256").update(JSON.stringify(value)).digest("base64url");

export function createIdempotency({
  state,
  clock,
  ledger,
}: Pick<Service, "state" | "clock" | "ledger">) {
  // The fingerprints of running requests. They are not stored: if the process dies, there is no response to replay.
  const running = new Map<string, string>();

  let characters = 0;
  let era = -1;
  /** Counts the characters of all responses again if a rewind has replaced the records. */
  const recount = () => {
    if (era === state.era()) return;
    era = state.era();
    characters = 0;
    for (const { body } of state.idempotency.all()) characters += body.length;
  };
  recount();

  const drop = ({ id, body }: IdempotencyRecord) => {
    characters -= body.length;
    state.idempotency.drop(id);
  };

  const makeRoom = () => {
    recount();
    if (state.idempotency.size === 0) characters = 0;
    for (const record of state.idempotency.all()) {
      const isFull = state.idempotency.size >= mostKeys || characters > mostCharacters;
      if (record.expiresAt > clock.now() && !isFull) return;
      drop(record);
    }
  };

  return {
    /**
     * Returns the stored response to the same request, if there is one. Otherwise, reserves the key until `release`,
     * and returns the functions that store a response and release the key.
     * @throws ApiError 409 or 422 if the earlier request had another body, 409 if it is still running
     */
    begin(scope: readonly [apiKey: string, operation: string, key: string], request: unknown) {
      const id = hashOf(scope);
      const fingerprint = hashOf(request);
      const earlier = state.idempotency.get(id);
      const isKept = earlier !== undefined && earlier.expiresAt > clock.now();
      const earlierFingerprint = running.get(id) ?? (isKept ? earlier.fingerprint : undefined);
      if (earlierFingerprint !== undefined && earlierFingerprint !== fingerprint) {
        throw new ApiError(
          ledger.get("idempotency"),
          "idempotency_conflict",
          "This idempotency key was already used with a different request body. Use a new key for each new request.",
          { param: "Idempotency-Key" },
        );
      }
      if (running.has(id)) {
        const text = "The first request with this idempotency key is still running.";
        const details = { param: "Idempotency-Key", headers: { "Retry-After": "1" } };
        throw new ApiError(409, "idempotency_in_progress", text, details);
      }
      if (isKept) return earlier;
      if (earlier) drop(earlier);
      running.set(id, fingerprint);
      return {
        /** Stores the response to a successful request. */
        keep(response: Pick<IdempotencyRecord, "sendId" | "status" | "body">) {
          makeRoom();
          const expiresAt = clock.now() + retentionMs;
          state.idempotency.put({ id, fingerprint, expiresAt, ...response });
        },
        release() {
          running.delete(id);
          // The characters are counted after the commit, because a failed commit removes the record.
          characters += state.idempotency.get(id)?.body.length ?? 0;
        },
      };
    },
  };
}
