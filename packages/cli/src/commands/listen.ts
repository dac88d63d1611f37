import { command } from "../command.js";

export const listen = command({ usage: "", details: [], options: {}, run: async () => 0 });
