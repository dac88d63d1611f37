import { webApp } from "../apps/web.js";

export default { fetch: webApp };
