import { admin } from "./cases/admin.js";
import { attempts } from "./cases/attempts.js";
import { connections } from "./cases/connections.js";
import { copies } from "./cases/copies.js";
import { hostile } from "./cases/hostile.js";
import { order } from "./cases/order.js";
import { storing } from "./cases/storing.js";
import { workers } from "./cases/workers.js";
import type { InboxCase } from "./probe.js";

export const inboxCases: readonly InboxCase[] = [
  ...storing,
  ...copies,
  ...attempts,
  ...hostile,
  ...workers,
  ...connections,
  ...admin,
  ...order,
];
