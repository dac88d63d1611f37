// Runs the Worker offline in Cloudflare's runtime, bundled as wrangler bundles it.
import { Miniflare } from "miniflare";
import { rolldown } from "rolldown";

const bundle = await rolldown({
  input: `${import.meta.dirname}/src/worker.ts`,
  platform: "browser",
  external: /^cloudflare:/,
  resolve: { conditionNames: ["workerd", "worker", "browser", "import"] },
});
const { output } = await bundle.generate();

const miniflare = new Miniflare({
  modules: true,
  script: output[0].code,
  compatibilityDate: "2025-06-01",
  durableObjects: { RECORDS: { className: "DeliveryRecords", useSQLite: true } },
  durableObjectsPersist: process.env.RECORDS_FOLDER ?? `${import.meta.dirname}/.wrangler/records`,
  bindings: { SVC_WEBHOOK_SECRET: process.env.SVC_WEBHOOK_SECRET ?? "" },
  port: Number(process.env.PORT ?? 8787),
  // Without this option, Miniflare fetches values for `request.cf` from the internet.
  cf: false,
});
const { port } = await miniflare.ready;
console.log(`Listening on http://localhost:${port}`);

process.once("SIGTERM", stop).once("SIGINT", stop);

async function stop() {
  await miniflare.dispose();
  process.exit();
}
