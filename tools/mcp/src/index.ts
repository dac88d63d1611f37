export { runMcp } from "./run.js";
export { toolList } from "./tools/all.js";
export type { McpOptions, McpProcess, ToolSummary } from "@svc-webhooks/cli/workbench";
