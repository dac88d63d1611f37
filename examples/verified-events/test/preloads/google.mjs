// Replaces Google's certificates, which its library would fetch.
import { createRequire } from "node:module";

const { OAuth2Client } = createRequire(process.argv[1])("google-auth-library");

OAuth2Client.prototype.getFederatedSignonCertsAsync = () =>
  Promise.resolve({ certs: { test: process.env.SENDER_CERTIFICATE } });
