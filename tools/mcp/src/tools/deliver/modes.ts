export const deliveryModes = ["signed", "tampered", "duplicate", "reordered"] as const;

export type DeliveryMode = (typeof deliveryModes)[number];

/** The ways to tamper with a delivery that both a sandbox and this server support. */
export const deliveryTampers = [
  "wrong_secret",
  "flipped_byte",
  "missing_prefix",
  "missing_header",
] as const;

export type DeliveryTamper = (typeof deliveryTampers)[number];
