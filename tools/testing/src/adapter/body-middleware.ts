/**
 * The middleware that handles the body before the adapter runs:
 * - `none`: there is no middleware
 * - `parses`: reads the body and keeps only the parsed value
 * - `buffers`: reads the body and keeps the exact bytes where the framework keeps them
 * - `truncates`: passes on fewer bytes than `Content-Length` states
 */
export type BodyMiddleware = "none" | "parses" | "buffers" | "truncates";
