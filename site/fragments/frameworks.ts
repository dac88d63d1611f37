import type { FrameworkFragment } from "./framework.js";
import { astro } from "./frameworks/astro.js";
import { bun } from "./frameworks/bun.js";
import { deno } from "./frameworks/deno.js";
import { express } from "./frameworks/express.js";
import { fastify } from "./frameworks/fastify.js";
import { firebase } from "./frameworks/firebase.js";
import { googleCloudFunctions } from "./frameworks/google-cloud-functions.js";
import { h3 } from "./frameworks/h3.js";
import { hono } from "./frameworks/hono.js";
import { koa } from "./frameworks/koa.js";
import { lambda } from "./frameworks/lambda.js";
import { nest } from "./frameworks/nest.js";
import { next } from "./frameworks/next.js";
import { node } from "./frameworks/node.js";
import { nuxt } from "./frameworks/nuxt.js";
import { reactRouter } from "./frameworks/react-router.js";
import { remix } from "./frameworks/remix.js";
import { sveltekit } from "./frameworks/sveltekit.js";

/** All frameworks, in the order of their pages. */
export const frameworks: readonly FrameworkFragment[] = [
  express,
  fastify,
  hono,
  nest,
  next,
  node,
  koa,
  lambda,
  googleCloudFunctions,
  firebase,
  sveltekit,
  reactRouter,
  remix,
  astro,
  nuxt,
  h3,
  bun,
  deno,
];
