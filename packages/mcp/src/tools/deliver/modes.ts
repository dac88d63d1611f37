export const deliveryModes = ["signed", "tampered", "duplicate", "reordered"] as const;

export type DeliveryMode = (typeof deliveryModes)[number];

/** The ways to spoil a delivery that both a sandbox and this server have. */
export const deliveryTampers = ["wrong_secret", "flipped_byte", "no_prefix", "missing"] as const;

export type DeliveryTamper = (typeof deliveryTampers)[number];
