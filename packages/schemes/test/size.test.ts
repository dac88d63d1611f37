import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { describe, expect, test } from "vitest";

const entry = fileURLToPath(new URL("../dist/index.js", import.meta.url));

const core = { id: "@svc-webhooks/core", external: true } as const;

/** Returns the code that an app bundles when it imports these exports, without the core. */
async function bundled(used: string): Promise<string> {
  const bundle = await rolldown({
    input: "used",
    plugins: [
      {
        name: "used",
        // The adapter's entry of the core is the same module.
        resolveId: (id) =>
          id === "used" ? id : id.startsWith("@svc-webhooks/core") ? core : undefined,
        load: (id) => (id === "used" ? `export ${used} from "${entry}"` : undefined),
      },
    ],
    platform: "neutral",
  });
  const { output } = await bundle.generate({ format: "esm", minify: true });
  expect(output).toHaveLength(1);
  return output[0].code;
}

const sizeOf = (code: string) => gzipSync(code, { level: 9 }).length;

/** Removes the texts for people, which are longer than any name. */
const withoutTexts = (code: string) => code.replaceAll(/`[^`]{25,}`/g, "``");

/**
 * The maximum sizes in bytes, minified and gzipped: of the code, and with its texts. Only lower them, or add the
 * reason here. The texts describe wrong secrets (80 bytes) and options, stale times, forms of headers, and what a
 * sender does not sign. Ed25519 has 90 for the check of small orders, and lists of signatures, which Standard
 * Webhooks, Stripe and Paddle share, cost the latter two 20 more than a list of pairs alone. Loops over digits and
 * base64, which save two thirds of the time of `inspect`, cost up to 30. Clearer texts cost up to 4. A header
 * with the type that a proxy has doubled is refused with 15. The text that names what damaged a key of Standard
 * Webhooks has 155. In hmac, a list of signatures costs 105 more than one, a body that is a list 110, which sendgrid
 * shares, and the checks and texts of these two options 85. Of all schemes, the presets have 1,560. The form of a list has 26, and the code point of an
 * invisible character in a key of Standard Webhooks 22.
 */
const limits: Readonly<Record<string, readonly [number, number]>> = {
  github: [800, 1_160],
  shopify: [800, 1_235],
  linear: [800, 1_485],
  paddle: [825, 1_571],
  stripe: [815, 1_554],
  slack: [1_250, 1_470],
  discord: [1_250, 1_610],
  standardWebhooks: [1_250, 2_269],
  sendgrid: [1_250, 1_720],
  hmac: [1_250, 3_052],
};

/**
 * The schemes on which the presets are based, and the most bytes that each preset adds, with its texts, minified and
 * gzipped. A preset should add at most 120. Above that are: both keys of Polar; the type of GitLab; the form and the
 * handshake of Zoom; the response to Meta's GET request, with 200 of texts about its verify token; and the setup of
 * Notion, with 340 of texts about the missing secret and the token.
 */
const presets: Readonly<Record<string, readonly ["standardWebhooks" | "hmac", number]>> = {
  svix: ["standardWebhooks", 40],
  resend: ["standardWebhooks", 50],
  clerk: ["standardWebhooks", 50],
  openai: ["standardWebhooks", 65],
  polar: ["standardWebhooks", 147],
  gitlab: ["standardWebhooks", 124],
  replicate: ["standardWebhooks", 80],
  dodoPayments: ["standardWebhooks", 55],
  zoom: ["hmac", 161],
  lemonSqueezy: ["hmac", 80],
  meta: ["hmac", 454],
  notion: ["hmac", 586],
  woocommerce: ["hmac", 120],
};

describe.each(Object.entries(presets))("%s", (name, [base, limit]) => {
  test("adds little to the scheme on which it is based", async () => {
    const [preset = "", alone = ""] = await Promise.all(
      [name, base].map((one) => bundled(`{ ${one} }`)),
    );
    expect(sizeOf(preset) - sizeOf(alone)).toBeLessThanOrEqual(limit);
  });

  test("is bundled without the names of other presets", async () => {
    const code = await bundled(`{ ${name} }`);
    // The header of Standard Webhooks may begin with "svix", and bodies of Lemon Squeezy have a field "meta".
    const others = Object.keys(presets).filter((other) => !/^(?:svix|meta)$/.test(other));
    expect(others.filter((other) => other !== name && code.includes(other))).toEqual([]);
  });
});

describe.each(Object.entries(limits))("%s", (name, [limit, withTexts]) => {
  test("is small, minified and gzipped", async () => {
    const bundle = await bundled(`{ ${name} }`);
    expect(sizeOf(withoutTexts(bundle))).toBeGreaterThan(300);
    expect(sizeOf(withoutTexts(bundle))).toBeLessThanOrEqual(limit);
    expect(sizeOf(bundle)).toBeLessThanOrEqual(withTexts);
  });

  test("is bundled without the names of other senders", async () => {
    const code = await bundled(`{ ${name} }`);
    const others = Object.keys(limits).filter((other) => other !== name && other !== "hmac");
    for (const other of others) expect(code.toLowerCase()).not.toContain(other.toLowerCase());
    expect(code).not.toMatch(/node:|\bBuffer\b|\bprocess\.\w|\brequire\b/);
  });
});

test("all schemes are small, minified and gzipped", async () => {
  const bundle = await bundled("*");
  expect(sizeOf(withoutTexts(bundle))).toBeLessThanOrEqual(3_600);
  expect(sizeOf(bundle)).toBeLessThanOrEqual(7_240);
});

test("no scheme carries a signer", async () => {
  expect(await bundled("*")).not.toMatch(/pkcs8|generateKey|randomUUID/);
});
