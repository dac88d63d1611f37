import type { Outcome } from "@svc-webhooks/core";
import { receiveBy, type Accepts } from "../../accepting.js";
import type { SignedDelivery } from "../../delivery.js";
import { assertValid } from "../assert-valid.js";
import { naming } from "../virtual/message.js";
import type { World } from "../world.js";

/** The part of a receiver that a crash test calls. */
export interface Receives {
  readonly receive: (delivery: SignedDelivery) => Promise<Outcome>;
}

/** The code under test. */
export interface Subject {
  /** The name of the option that contains `build`, for errors. */
  readonly option: "receiver" | "intake";
  /**
   * Builds the code in a simulated process.
   *
   * @throws CrashTestError (as a rejection) `invalid_option`
   */
  readonly build: (world: World) => Promise<Receives>;
}

const fixes = {
  receiver: "({ secret, clock, store }) => createReceiver({ secret, clock, store, on })",
  intake: "({ clock, store }) => createIntake({ clock, store, sources, on })",
};

/**
 * Returns the code under test.
 *
 * @throws CrashTestError `invalid_option` unless there is either a receiver or an intake
 */
export function subjectOf(
  receiver: ((world: World) => Receives | Promise<Receives>) | undefined,
  intake: ((world: World) => Accepts | Promise<Accepts>) | undefined,
): Subject {
  const option = intake === undefined ? "receiver" : "intake";
  assertValid(
    receiver === undefined || intake === undefined,
    "A crash test needs `receiver` or `intake`, not both. Write a test for each.",
  );
  assertValid(
    typeof (receiver ?? intake) === "function",
    `\`${option}\` must be a function that creates your ${option} from the world: ${fixes[option]}.`,
  );
  return {
    option,
    async build(world) {
      const build = async (): Promise<unknown> => (intake ?? receiver)?.(world);
      const built = Object(await naming(option, build())) as Partial<Receives & Accepts>;
      assertValid(
        typeof (intake ? built.accept : built.receive) === "function",
        `\`${option}\` must return the ${option} that it creates: ${fixes[option]}.`,
      );
      return intake ? { receive: receiveBy(built as Accepts) } : (built as Receives);
    },
  };
}
