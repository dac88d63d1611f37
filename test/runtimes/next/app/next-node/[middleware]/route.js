import { contractRoutes } from "../../../contract-routes.js";

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = contractRoutes();
