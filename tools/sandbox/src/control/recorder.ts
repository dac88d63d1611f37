import type { RecordingShape } from "../read/queries.js";

/** Records the actions, and the requests other than reads, as a scenario. */
export interface Recorder {
  readonly state: () => RecordingShape | undefined;
  /** Starts a recording. @throws ApiError 409 if a recording is already running */
  readonly start: () => void;
  /**
   * Ends the recording and names it.
   * @throws ApiError 409 if no recording is running, or if the ended recording is not a valid scenario
   */
  readonly stop: (name: string) => void;
  /** Returns the finished recording as a file. @throws ApiError 404 if there is none, or while another one runs */
  readonly file: () => { readonly name: string; readonly text: string };
  /**
   * If a recording is running, adds a successful action to it, provided that scenarios can contain the action. A reset
   * begins the recording again.
   */
  readonly noteAction: (
    name: string,
    params: Readonly<Record<string, string>>,
    body: unknown,
    result: unknown,
  ) => void;
  /**
   * If a recording is running, adds the time since its last step, because the rewind will set the clock back.
   *
   * @throws ApiError 409 if the checkpoint was taken before the recording began
   */
  readonly beforeRewind: (checkpoint: string) => void;
}
