import { createHonoApp } from "./hono-app.js";

export default createHonoApp();
