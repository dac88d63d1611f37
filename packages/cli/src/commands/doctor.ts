import { command } from "../command.js";

export const doctor = command({ usage: "", details: [], options: {}, run: async () => 0 });
