import type { RecordingShape } from "../read/queries.js";

/** Records the requests to the interface and the actions as a scenario. */
export interface Recorder {
  readonly state: () => RecordingShape | undefined;
  /** @throws ApiError 409 if a recording has begun already */
  readonly start: () => void;
  /** Ends the recording, which then has the name. @throws ApiError 409 if there is none */
  readonly stop: (name: string) => void;
  /** Returns the last finished recording as the text of a file. @throws ApiError 404 if there is none */
  readonly file: () => { readonly name: string; readonly text: string };
  /** Notes an action that has succeeded. */
  readonly noteAction: (
    name: string,
    params: Readonly<Record<string, string>>,
    body: unknown,
    result: unknown,
  ) => void;
  /**
   * Notes the time that has passed until a rewind.
   *
   * @throws ApiError 409 if the checkpoint was taken before the recording began
   */
  readonly beforeRewind: (checkpoint: string) => void;
}
