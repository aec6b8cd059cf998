/**
 * Frames of HTTP/2 (RFC 9113 §4, §6) and the one block of headers that a gRPC call has (RFC 7541).
 * Imports nothing. Rule: bytes in, frames out, and back; it knows nothing of calls.
 */

export const FRAME = {
  data: 0,
  headers: 1,
  resetStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
} as const;

/** `ack` and `endStream` are the same bit, of different frames. */
export const FLAG = { ack: 1, endStream: 1, endHeaders: 4, padded: 8 } as const;

export const SETTING = { headerTableSize: 1, enablePush: 2, initialWindowSize: 4 } as const;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  /** Without padding. */
  readonly payload: Buffer;
}

const HEAD_BYTES = 9;
/** The longest payload that may be sent to a peer that has not said more. */
const PAYLOAD_BYTES_MAX = 16_384;
const NOTHING = Buffer.alloc(0);

/** One frame; data that is too long for one comes as several, of which the last has the flags. */
export function frame(type: number, flags: number, stream: number, payload: Buffer = NOTHING): Buffer {
  if (payload.length > PAYLOAD_BYTES_MAX) {
    if (type !== FRAME.data) throw new Error(`a frame of ${payload.length} bytes is too long`);
    const first = frame(type, 0, stream, payload.subarray(0, PAYLOAD_BYTES_MAX));
    return Buffer.concat([first, frame(type, flags, stream, payload.subarray(PAYLOAD_BYTES_MAX))]);
  }
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  payload.copy(bytes, HEAD_BYTES);
  return bytes;
}

export function settings(values: readonly (readonly [number, number])[]): Buffer {
  const payload = Buffer.alloc(values.length * 6);
  values.forEach(([name, value], position) => {
    payload.writeUInt16BE(name, position * 6);
    payload.writeUInt32BE(value, position * 6 + 2);
  });
  return frame(FRAME.settings, 0, 0, payload);
}

/** Lets the other side send so many bytes more on the connection. */
export function windowUpdate(bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(FRAME.windowUpdate, 0, 0, payload);
}

/** Places in the table of headers that everybody knows. */
const METHOD_POST = 3;
const SCHEME_HTTP = 6;
const AUTHORITY = 1;
const PATH = 4;
const CONTENT_TYPE = 31;
const INDEXED = 0x80;
/** Of a number in four bits: what does not fit follows. */
const FOUR_BITS = 15;

/** The headers of a gRPC call, each by itself, so that neither side has to remember any. */
export function headerBlock(path: string, authority: string): Buffer {
  return Buffer.concat([
    Buffer.from([INDEXED | METHOD_POST, INDEXED | SCHEME_HTTP]),
    Buffer.from([PATH]),
    text(path),
    Buffer.from([AUTHORITY]),
    text(authority),
    Buffer.from([FOUR_BITS, CONTENT_TYPE - FOUR_BITS]),
    text("application/grpc"),
    Buffer.from([0]),
    text("te"),
    text("trailers"),
  ]);
}

/** Its length in seven bits, and itself. */
function text(value: string): Buffer {
  if (value.length > 126) throw new Error(`a header of ${value.length} characters is too long`);
  return Buffer.from([value.length, ...Buffer.from(value)]);
}

/** Cuts what arrives into frames, wherever it was divided on the way. */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void;
  #rest: Buffer[] = [];
  #restBytes = 0;
  /** So many bytes make the next frame whole, as far as it is known. */
  #wanted = HEAD_BYTES;

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame;
  }

  add(bytes: Buffer): void {
    this.#rest.push(bytes);
    this.#restBytes += bytes.length;
    if (this.#restBytes < this.#wanted) return;
    const all = this.#rest.length === 1 ? bytes : Buffer.concat(this.#rest);
    let position = 0;
    this.#wanted = HEAD_BYTES;
    while (all.length - position >= HEAD_BYTES) {
      const end = position + HEAD_BYTES + all.readUIntBE(position, 3);
      if (end > all.length) {
        this.#wanted = end - position;
        break;
      }
      this.#onFrame(read(all.subarray(position, end)));
      position = end;
    }
    this.#rest = position === all.length ? [] : [all.subarray(position)];
    this.#restBytes = all.length - position;
  }
}

function read(bytes: Buffer): Frame {
  const [type = 0, flags = 0] = bytes.subarray(3, 5);
  const stream = bytes.readUInt32BE(5) % 2 ** 31;
  const payload = bytes.subarray(HEAD_BYTES);
  const isPadded = (type === FRAME.data || type === FRAME.headers) && (flags & FLAG.padded) !== 0;
  return {
    type,
    flags,
    stream,
    payload: isPadded ? payload.subarray(1, -(payload[0] ?? 0) || undefined) : payload,
  };
}
