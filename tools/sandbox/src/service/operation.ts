import type { z } from "zod";
import type { AssumptionId } from "../assumptions/table.js";
import type { AccountId, CallRecord } from "../state/records.js";
import type { Service } from "./service.js";

/** A request that has been authenticated, and whose body and query match the operation's schemas. */
export interface OperationInput<Body = unknown, Query = unknown> {
  readonly account: AccountId;
  /** The values of the path's `{name}` placeholders. */
  readonly params: Readonly<Record<string, string>>;
  readonly body: Body;
  readonly query: Query;
  /** The call's record, in which the operation notes its effects. */
  readonly call: CallRecord;
}

export interface OperationResult {
  /** Default: the operation's `status`. */
  readonly status?: number;
  /** Undefined for a response without a body. */
  readonly body: unknown;
}

/** One operation of the interface document. */
export interface Operation {
  readonly id: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** `{name}` stands for one segment, or for the part of a segment before its `:verb`. */
  readonly path: string;
  readonly summary: string;
  readonly status: number;
  readonly request?: z.ZodType | undefined;
  readonly query?: z.ZodType | undefined;
  readonly response: z.ZodType;
  /** Set if a request needs an `Idempotency-Key`. */
  readonly idempotent?: true;
  /** The ids of the assumptions that affect the operation. */
  readonly assumptions: readonly AssumptionId[];
  /** Runs before `run`, for asynchronous checks. Must not change anything. @throws ApiError */
  readonly check?: ((service: Service, input: OperationInput) => Promise<void>) | undefined;
  readonly run: (service: Service, input: OperationInput) => OperationResult;
}

/** Returns an operation whose `check` and `run` receive the values that its schemas have parsed. */
export function operation<Body extends z.ZodType, Query extends z.ZodType>(
  definition: Omit<Operation, "check" | "run" | "request" | "query"> & {
    readonly request?: Body;
    readonly query?: Query;
    readonly check?: (
      service: Service,
      input: OperationInput<z.output<Body>, z.output<Query>>,
    ) => Promise<void>;
    readonly run: (
      service: Service,
      input: OperationInput<z.output<Body>, z.output<Query>>,
    ) => OperationResult;
  },
): Operation {
  return definition as Operation;
}
