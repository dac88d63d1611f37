import { createECDH, createHash, createPrivateKey, createPublicKey } from "node:crypto";
import type { Sender } from "@svc-webhooks/schemes/senders";

/** The keys of redacted requests. They are publicly known, so they must not protect anything real. */
export interface TestSecret {
  /** The receiver's secret. */
  readonly secret: string;
  /** The key that signs. */
  readonly signingSecret: string;
}

const text = "svc-webhooks-test-secret";

/** The default secret of `signedDelivery` in `@svc-webhooks/testing`. */
const plain = "whsec_test";

/** Returns the keys for a sender. They are always the same: private keys are derived from a fixed text. */
export const testSecretOf = ({ name, key }: Sender): TestSecret =>
  special[name]?.() ?? (key === "encoded" ? standardWebhooks() : equal(plain));

const equal = (secret: string): TestSecret => ({ secret, signingSecret: secret });

const seedOf = () => createHash("sha256").update(text).digest();

/** The start of an Ed25519 private key in PKCS #8, before the 32 bytes of the key (RFC 8410, section 7). */
const pkcs8Start = Buffer.from("302e020100300506032b657004220420", "hex");

function ed25519() {
  const seed = seedOf();
  const key = createPrivateKey({
    key: Buffer.concat([pkcs8Start, seed]),
    format: "der",
    type: "pkcs8",
  });
  const { x = "" } = createPublicKey(key).export({ format: "jwk" });
  return { seed, point: Buffer.from(x, "base64url") };
}

function p256(): TestSecret {
  const pair = createECDH("prime256v1");
  pair.setPrivateKey(seedOf());
  const point = pair.getPublicKey();
  const jwk = {
    kty: "EC",
    crv: "P-256",
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url"),
    d: seedOf().toString("base64url"),
  };
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  return {
    secret: createPublicKey(key).export({ format: "der", type: "spki" }).toString("base64"),
    signingSecret: key.export({ format: "der", type: "pkcs8" }).toString("base64"),
  };
}

const standardWebhooks = () => equal(`whsec_${Buffer.from(text).toString("base64")}`);

/** The keys of senders whose keys must have a certain form. */
const special: Partial<Readonly<Record<Sender["name"], () => TestSecret>>> = {
  "standard-webhooks-ed25519"() {
    const { seed, point } = ed25519();
    return {
      secret: `whpk_${point.toString("base64")}`,
      signingSecret: `whsk_${seed.toString("base64")}`,
    };
  },
  discord() {
    const { seed, point } = ed25519();
    return { secret: point.toString("hex"), signingSecret: seed.toString("hex") };
  },
  sendgrid: p256,
};
