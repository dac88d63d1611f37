/** Has an effect outside of this process, such as a charge. Throws if it fails. */
export async function effect(id) {
  const response = await fetch(process.env.EFFECTS_URL, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ id }),
  });
  if (!response.ok) throw new Error(`The effect of ${id} failed with ${response.status}.`);
}
