import { meta, metaOptions } from "../meta.js";
import { notion, notionOptions } from "../notion.js";
import { lemonSqueezy, lemonSqueezyOptions, zoom, zoomOptions } from "../presets-hmac.js";
import { woocommerce, woocommerceOptions } from "../woocommerce.js";
import { hmacSigner } from "./hmac-signers.js";
import { isoTime } from "./row-parts.js";
import type { HmacPresetName, Row } from "./sender.js";
import { sharedSecret } from "./test-keys.js";

/** The members that these senders share. Each signs its ids, or has none. */
const common = { key: "text", isTimed: false, signsId: true } satisfies Partial<Row>;

const signWooCommerce = /* @__PURE__ */ hmacSigner(woocommerceOptions);

/** The rows of the senders that `hmac` describes. */
export const hmacPresets: Readonly<Record<HmacPresetName, Row>> = {
  zoom: {
    ...common,
    label: "Zoom",
    secretVariable: "ZOOM_WEBHOOK_SECRET_TOKEN",
    scheme: zoom(),
    sign: hmacSigner(zoomOptions),
    testKeys: sharedSecret("", 16),
    form: { prefix: "v0=", encoding: "hex", idHeaders: [] },
    isTimed: true,
    type: "meeting.started",
    complete: (event, { deliveryId, type, at }) => ({
      event: type,
      event_ts: at,
      payload: { account_id: "1", object: { uuid: deliveryId } },
      ...event,
    }),
  },

  "lemon-squeezy": {
    ...common,
    label: "Lemon Squeezy",
    secretVariable: "LEMON_SQUEEZY_SECRET",
    scheme: lemonSqueezy(),
    sign: hmacSigner(lemonSqueezyOptions),
    testKeys: sharedSecret("", 16),
    form: { prefix: "", encoding: "hex", idHeaders: [] },
    type: "order_created",
    complete: (event, { deliveryId, type }) => ({
      // Makes each body unique, because the delivery id is the hash of the body.
      meta: { event_name: type, custom_data: { id: deliveryId } },
      data: { type: "orders", id: "1" },
      ...event,
    }),
  },

  meta: {
    ...common,
    label: "Meta",
    secretVariable: "META_APP_SECRET",
    scheme: meta(),
    sign: hmacSigner(metaOptions),
    testKeys: sharedSecret("", 16),
    form: { prefix: "sha256=", encoding: "hex", idHeaders: [] },
    type: "whatsapp_business_account",
    complete: (event, { deliveryId, type, at }) => ({
      object: type,
      entry: [
        {
          id: "1",
          time: Math.floor(at / 1_000),
          changes: [{ field: "messages", value: { messages: [{ id: deliveryId }] } }],
        },
      ],
      ...event,
    }),
  },

  notion: {
    ...common,
    label: "Notion",
    secretVariable: "NOTION_WEBHOOK_VERIFICATION_TOKEN",
    scheme: notion(),
    sign: hmacSigner(notionOptions),
    testKeys: sharedSecret("secret_", 22),
    form: { prefix: "sha256=", encoding: "hex", idHeaders: [], idField: "id" },
    type: "page.created",
    complete: (event, { deliveryId, type, at }) => ({
      id: deliveryId,
      timestamp: isoTime(at),
      type,
      attempt_number: 1,
      entity: { id: "1", type: "page" },
      data: {},
      ...event,
    }),
  },

  woocommerce: {
    ...common,
    label: "WooCommerce",
    secretVariable: "WOOCOMMERCE_WEBHOOK_SECRET",
    scheme: woocommerce(),
    sign: (body, options) =>
      signWooCommerce(body, { ...options, type: options.type ?? "order.created" }),
    testKeys: sharedSecret("", 16),
    form: { prefix: "", encoding: "base64", idHeaders: [] },
    type: "order.created",
    complete: (event, { deliveryId, at }) => ({
      id: 1,
      status: "processing",
      date_created_gmt: isoTime(at),
      order_key: `wc_order_${deliveryId}`,
      ...event,
    }),
  },
};
