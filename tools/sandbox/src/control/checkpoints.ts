import { conflict, notFound } from "../errors.js";
import { resumeWork } from "../service/resume.js";
import type { Service } from "../service/service.js";
import type { CheckpointRecord } from "../state/table.js";

/** The maximum number of checkpoints. Each may need as much memory as all current records. */
const mostCheckpoints = 5;

/**
 * Stores a copy of the state under a name. Replaces an earlier checkpoint of that name.
 *
 * @throws ApiError 409 if there are already {@link mostCheckpoints} checkpoints, none of them with this name
 */
export function takeCheckpoint(
  { state, clock, ids, ledger, rateLimit }: Service,
  name: string,
): CheckpointRecord {
  if (state.checkpoints.size >= mostCheckpoints && !state.checkpoints.get(name))
    throw conflict(
      `There are already ${mostCheckpoints} checkpoints. Use the name of one of them, or reset the sandbox.`,
    );
  return state.checkpoints.put({
    id: name,
    clock: clock.state(),
    ...state.copy(),
    ids: ids.position(),
    assumptions: ledger.saved(),
    windows: rateLimit.copy(),
  });
}

/** Returns the checkpoint with a name. @throws ApiError 404 if there is none */
export function findCheckpoint({ state }: Service, name: string): CheckpointRecord {
  const checkpoint = state.checkpoints.get(name);
  if (checkpoint) return checkpoint;
  const names = state.checkpoints.list().map(({ id }) => id);
  throw notFound(
    "name",
    names.length === 0
      ? "There are no checkpoints. Take one first."
      : `There is no checkpoint of this name. The checkpoints are: ${names.join(", ")}.`,
  );
}

/**
 * Restores the state of a checkpoint. Attempts that are running now count as not made. Attempts that were running at
 * the checkpoint are made again.
 *
 * @param restoreAssumptions restores the assumptions that the sandbox was created with
 * @throws ApiError 500 if the data file cannot be written, in which case nothing changes
 */
export function rewindTo(
  service: Service,
  checkpoint: CheckpointRecord,
  restoreAssumptions: () => void,
): void {
  const { state, clock, engine, ids, ledger, rateLimit } = service;
  // Checkpoints contain no functions and no emit maps. These can only come from the options, from which
  // `restoreAssumptions` restores them.
  const choices = Object.entries(checkpoint.assumptions).map(([id, value]) =>
    ledger.choose(id, value),
  );
  state.restore(checkpoint);
  engine.clear();
  clock.rewind(checkpoint.clock);
  restoreAssumptions();
  for (const choice of choices) choice.select();
  ids.moveTo(checkpoint.ids);
  rateLimit.restore(checkpoint.windows);
  resumeWork(service);
}
