/*
 * Applies the color scheme that the user has chosen. The page loads this script separately and before its content, so
 * that no other scheme is painted first.
 */

import { stored } from "./storage.js";

document.documentElement.dataset.scheme = stored(() => localStorage.getItem("scheme")) ?? "";
