/**
 * Reads a request's body: declared as JSON, bounded by the bytes that arrive, UTF-8, one object.
 * May import: core. Nothing of the body is acted on before all of it was read.
 */
import { type Rejection, rejection } from "../core/errors.ts";
import { err, ok, type Result } from "../core/result.ts";

type BodyFault = Rejection<
  "unsupported_media_type" | "body_too_large" | "malformed_json" | "invalid_request"
>;

const JSON_MEDIA_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i;

/** Reads a body as one JSON object. Rejects: another media type, too many bytes, anything that is no object. */
export async function readJsonObject(
  request: Request,
  bytesMax: number,
): Promise<Result<Record<string, unknown>, BodyFault>> {
  if (!JSON_MEDIA_TYPE.test(request.headers.get("content-type") ?? "")) {
    return err(rejection("unsupported_media_type", {}));
  }
  const announced = request.headers.get("content-length");
  if (Number(announced ?? 0) > bytesMax) {
    // Who still sends hears no answer: what is not much too large is taken in and dropped first.
    if (Number(announced) <= 2 * bytesMax) await drop(request.body, 2 * bytesMax).catch(() => undefined);
    return err(rejection("body_too_large", { limit: bytesMax }));
  }
  // A body that breaks off, or whose chunks are malformed, is the caller's fault.
  const length = announced === null ? undefined : Number(announced);
  const bytes = await readBytes(request, bytesMax, length).catch(() => "broken" as const);
  if (bytes === "broken") return err(rejection("malformed_json", {}));
  if (bytes === undefined) return err(rejection("body_too_large", { limit: bytesMax }));
  return parseObject(bytes);
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** Beyond, bytes are counted as they arrive: an announcement alone must not take memory. */
const WHOLE_BYTES_MAX = 64 * 1024;

/**
 * Whether what comes over a socket is as long as it is announced, or breaks off: workerd ends it there, and drops
 * the header of a body in chunks. Elsewhere a body of five bytes may have no end. A method tells workerd.
 */
const IS_LENGTH_KEPT =
  typeof ReadableStreamBYOBReader === "function" && "readAtLeast" in ReadableStreamBYOBReader.prototype;

/**
 * Reads at most that many bytes; undefined when there are more.
 * Why: a body of a known length is taken by one call of the platform; a reader of the stream costs a
 * twentieth of an allocation, and a turn of the event loop where it waits for the end.
 */
async function readBytes(
  request: Request,
  bytesMax: number,
  announced: number | undefined,
): Promise<Uint8Array | undefined> {
  const { body } = request;
  if (body === null) return new Uint8Array();
  if (IS_LENGTH_KEPT && announced !== undefined && announced <= WHOLE_BYTES_MAX) {
    const bytes = await request.bytes();
    return bytes.byteLength > bytesMax ? undefined : bytes;
  }
  const chunks: Uint8Array[] = [];
  let total = 0;
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    total += value.byteLength;
    if (total > bytesMax) {
      await reader.cancel().catch(() => undefined);
      return undefined;
    }
    chunks.push(value);
    if (total === announced) break;
  }
  const [only] = chunks;
  if (only !== undefined && chunks.length === 1) return only;
  const joined = new Uint8Array(total);
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.byteLength;
  }
  return joined;
}

/** Reads at most that many bytes and keeps none. */
async function drop(body: ReadableStream | null, bytesMax: number): Promise<void> {
  if (body === null) return;
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  for (let total = 0; total < bytesMax; ) {
    const { done, value } = await reader.read();
    if (done) return;
    total += value.byteLength;
  }
  await reader.cancel();
}

/** A text in which the forbidden key may stand: as it is, or with an escaped character. */
const MAY_BE_FORBIDDEN = /__proto__|\\u/;

function parseObject(bytes: Uint8Array): Result<Record<string, unknown>, BodyFault> {
  let text: string;
  let value: unknown;
  try {
    text = decoder.decode(bytes);
    value = JSON.parse(text);
  } catch {
    return err(rejection("malformed_json", {}));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return err(rejection("malformed_json", {}));
  }
  const forbidden = MAY_BE_FORBIDDEN.test(text) ? findForbiddenKey(value, "") : undefined;
  if (forbidden === undefined) return ok(value as Record<string, unknown>);
  const fault = {
    pointer: forbidden,
    code: "unknown_field",
    message: "is not a field of this request",
  } as const;
  return err(rejection("invalid_request", { errors: [fault] }));
}

/** Finds a key that libraries drop in silence, so that nothing is ignored without saying so. */
function findForbiddenKey(root: object, at: string): string | undefined {
  const open: [value: object, pointer: string][] = [[root, at]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, pointer] = next;
    if (Object.hasOwn(value, "__proto__")) return `${pointer}/__proto__`;
    for (const [key, member] of Object.entries(value)) {
      if (typeof member === "object" && member !== null) open.push([member, `${pointer}/${key}`]);
    }
  }
  return undefined;
}
