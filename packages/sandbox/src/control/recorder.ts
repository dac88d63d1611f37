import type { RecordingShape } from "../read/queries.js";

/** Records requests to the interface, and actions, as a scenario. */
export interface Recorder {
  readonly state: () => RecordingShape | undefined;
  /** Starts a recording. @throws ApiError 409 if a recording is already running */
  readonly start: () => void;
  /**
   * Ends the recording and names it.
   * @throws ApiError 409 if no recording is running, or if the ended recording is not a valid scenario
   */
  readonly stop: (name: string) => void;
  /** Returns the last finished recording as the text of a file. @throws ApiError 404 if there is none */
  readonly file: () => { readonly name: string; readonly text: string };
  /** Adds a successful action to the recording, if one is running. A reset begins the recording again. */
  readonly noteAction: (
    name: string,
    params: Readonly<Record<string, string>>,
    body: unknown,
    result: unknown,
  ) => void;
  /**
   * Adds the time that has passed before a rewind to the recording, if one is running.
   *
   * @throws ApiError 409 if the checkpoint was taken before the recording began
   */
  readonly beforeRewind: (checkpoint: string) => void;
}
