/**
 * Hashes of requests: the same meaning gives the same text.
 * May import: nothing.
 */

/** Writes a value as JSON with the keys of every object sorted; members that are undefined are left out. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

/** The first hexadecimal digits of a text's SHA-256. */
export async function sha256Hex(text: string, digits: number): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0"))
    .join("")
    .slice(0, digits);
}

/** Digits of the fingerprint that an idempotency key is bound to. */
const FINGERPRINT_DIGITS = 32;

/**
 * The fingerprint of a request that brought a key of its own; any other has a key that nobody repeats.
 */
export function fingerprintUnder(
  key: string | undefined,
  body: Record<string, unknown>,
): Promise<string> | string {
  return key === undefined ? "" : fingerprintOf(body);
}

/**
 * The fingerprint of a request: its parsed body without `explain`, which asks for words, not for addresses.
 * Why: the same key with another fingerprint is refused.
 */
export function fingerprintOf(body: Record<string, unknown>): Promise<string> {
  const { explain: _words, ...meaning } = body;
  return sha256Hex(canonicalJson(meaning), FINGERPRINT_DIGITS);
}
