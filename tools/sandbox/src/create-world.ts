import { createClock } from "./clock/create-clock.js";
import { createFaults } from "./faults.js";
import { createIds } from "./lib/ids.js";
import type { ResolvedOptions } from "./options.js";
import { noJournal } from "./state/journal.js";
import type { DeliveryRecord } from "./state/records.js";
import { createRetention, type Retention } from "./state/retention.js";
import { sqliteJournal } from "./state/sqlite-journal.js";
import { createState, type ChangeListener } from "./state/state.js";
import type { World } from "./world.js";

interface WorldListeners {
  readonly onChange: ChangeListener;
  /** Receives each delivery that still exists after its changes were rolled back. */
  readonly onRollBack: (delivery: DeliveryRecord) => void;
}

/**
 * Opens the state, and creates the other parts of the world.
 *
 * @param secret returns each new signing secret, in place of a generated one
 */
export function createWorld(
  { data, seed, clock, ledger, limits, log }: ResolvedOptions,
  secret: (() => string) | undefined,
  { onChange, onRollBack }: WorldListeners,
): { readonly world: World; readonly retention: Retention } {
  const state = createState({
    journal: data === undefined ? noJournal : sqliteJournal(data),
    onChange,
    afterCommit: (written) => retention.committed(written),
    onTakenBack(kind, id) {
      const delivery = kind === "delivery" ? state.deliveries.get(id) : undefined;
      if (delivery) onRollBack(delivery);
    },
    onError: (error) => log(`the data file could not be written: ${String(error)}`),
  });
  const retention = createRetention(state, limits);
  // The number of earlier starts with the data file is part of the seed, so that new ids differ from those in the file.
  const starts = Number(state.settings.get("starts")?.value ?? 0);
  state.settings.put({ id: "starts", value: starts + 1 });
  const ids = createIds(seed === undefined ? undefined : `${seed} ${starts}`, secret);
  const faults = createFaults(state, ids);
  return { world: { state, ledger, clock: createClock(clock), ids, faults, log }, retention };
}
