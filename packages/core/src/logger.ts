/**
 * The destination of log lines: `console`, pino, winston, the logger of Fastify, or anything else with these methods.
 * Each method is called with a text and fields. If the logger has a method `bindings`, the fields come first, because
 * pino and Fastify ignore fields after a text. The text contains every field, so `console` receives only the text.
 */
export interface Logger {
  info(text: string, fields: LogFields): unknown;
  warn(text: string, fields: LogFields): unknown;
  error(text: string, fields: LogFields): unknown;
}

/** The facts in a line. Unknown facts are absent. */
export interface LogFields {
  /** The receiver's name. */
  readonly receiver: string;
  /** The code of the outcome or the warning, or `notice` for a scheme's notice. */
  readonly code: string;
  readonly deliveryId?: string;
  /** The origin of the event, if an intake or a guard has accepted it. */
  readonly source?: string;
  /** The event's type, cut to 500 characters, in which `%` and everything except printable ASCII is then escaped. */
  readonly type?: string;
  /** The number of this run, counted by the receiver. */
  readonly run?: number;
  /** The part of the text that describes this case, cut and escaped like the type. */
  readonly details?: string;
}
