export type { ObservedInbox, TelemetryOptions } from "./options.js";
export { telemetry } from "./telemetry.js";
export type { Telemetry } from "./telemetry.js";
