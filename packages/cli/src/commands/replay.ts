import { command } from "../command.js";

export const replay = command({ usage: "", details: [], options: {}, run: async () => 0 });
