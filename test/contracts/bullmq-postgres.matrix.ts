import { describeWithPostgres, postgresServer } from "@svc-webhooks/kit/postgres-server";
import { createPostgresBackend } from "bullmq";
import { afterAll, beforeAll } from "vitest";
import { bullmqContract } from "./bullmq-contract.js";

describeWithPostgres("BullMQ on PostgreSQL", () => {
  let server: Awaited<ReturnType<typeof postgresServer>>;
  beforeAll(async () => {
    server = await postgresServer();
  });
  afterAll(() => server.close());
  bullmqContract({
    connection: () => ({ connectionString: server.connectionString, migrate: true }),
    factory: createPostgresBackend,
  });
});
