/*
 * The functions behind the commands, for `@svc-webhooks/mcp`. They are not a public API, and may change in any release.
 * `@svc-webhooks/mcp` can rely on them, because both packages always have the same version.
 */

export { sentEmail } from "./doctor/bodies.js";
export { diagnose, type DiagnoseOptions, type Diagnosis } from "./doctor/diagnose.js";
export { lostReply } from "./doctor/examine.js";
export { finding, type Finding } from "./doctor/findings.js";
export { isSuccess, newEventId, sender, type Probe, type Reply } from "./doctor/probe.js";
export { signingOf, type Signing } from "./doctor/signing.js";
export { followDeliveries, listFromSandbox, type Followed } from "./lib/control.js";
export { masked } from "./lib/mask.js";
export { tamper, type SignedDelivery } from "@svc-webhooks/testing";
export { receiverConformance, type ConformanceResult } from "@svc-webhooks/testing/conformance";
export type { McpOptions, McpProcess, ToolSummary } from "./lib/mcp-module.js";
export { isOutcome } from "./lib/outcome.js";
export { baseUrlOf, callService } from "./lib/service.js";
export { hostOf, literalAddresses, portOf } from "./lib/target-rule.js";
export { isLoopback, targetAt, type Address, type Target } from "./lib/target.js";
export { ConnectionError, explainConnection, isUnreachable } from "./lib/tls.js";
export { clean } from "./lib/terminal/text.js";
