import { openDatabase } from "./database.js";

const database = openDatabase();
await database.migrate();
await database.close();
