/**
 * The few messages of etcd's public protocol (version 3) that the peer sends, in Protocol Buffers.
 * Imports nothing. Rule: numbers of fields as etcd publishes them; unknown fields are passed over.
 */

export interface KeyValue {
  readonly key: string;
  readonly value: string;
  /** The revision of the store at which it was written last; what a compare-and-swap compares. */
  readonly revision: number;
}

/** A list has an end; without one a range is a single key. Both in one read. */
export interface Range {
  readonly key: string;
  readonly end?: string;
}

/** One operation under the condition that a key is still at a revision; 0: that there is none. */
export interface Swap {
  readonly key: string;
  readonly revision: number;
  /** Absent: the key is deleted. */
  readonly value?: string;
}

export interface Swapped {
  readonly done: boolean;
  /** Of the store, after it. */
  readonly revision: number;
}

const VARINT = 0;
const EIGHT_BYTES = 1;
const WITH_LENGTH = 2;
const FOUR_BYTES = 5;
/** Of Compare: its target is the revision of the last write. */
const TARGET_MOD_REVISION = 2;

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return bytes;
}

function numberField(field: number, value: number): Buffer {
  return Buffer.from([...varint(field * 8 + VARINT), ...varint(value)]);
}

function bytesField(field: number, content: Buffer | string): Buffer {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  return Buffer.concat([Buffer.from([...varint(field * 8 + WITH_LENGTH), ...varint(bytes.length)]), bytes]);
}

/** RangeRequest, and DeleteRangeRequest, which has the same first fields. */
export function encodeRange({ key, end }: Range): Buffer {
  return Buffer.concat([bytesField(1, key), ...(end === undefined ? [] : [bytesField(2, end)])]);
}

/** PutRequest. */
export function encodePut({ key, value }: { readonly key: string; readonly value: string }): Buffer {
  return Buffer.concat([bytesField(1, key), bytesField(2, value)]);
}

/** TxnRequest with one comparison (equal, which is the default) and one operation. */
export function encodeSwap({ key, revision, value }: Swap): Buffer {
  const compare = [numberField(2, TARGET_MOD_REVISION), bytesField(3, key), numberField(6, revision)];
  const operation =
    value === undefined ? bytesField(3, encodeRange({ key })) : bytesField(2, encodePut({ key, value }));
  return Buffer.concat([bytesField(1, Buffer.concat(compare)), bytesField(2, operation)]);
}

/** CompactionRequest. */
export function encodeCompaction(revision: number): Buffer {
  return numberField(1, revision);
}

interface Field {
  readonly field: number;
  /** 0 where the field is bytes. */
  readonly number: number;
  /** Empty where the field is a number. */
  readonly bytes: Buffer;
}

const NO_BYTES = Buffer.alloc(0);

function* fields(message: Buffer): Generator<Field> {
  let position = 0;
  const readVarint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message[position] ?? 0;
      position += 1;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (position < message.length) {
    const tag = readVarint();
    const field = Math.floor(tag / 8);
    switch (tag % 8) {
      case VARINT:
        yield { field, number: readVarint(), bytes: NO_BYTES };
        break;
      case WITH_LENGTH: {
        const length = readVarint();
        position += length;
        yield { field, number: 0, bytes: message.subarray(position - length, position) };
        break;
      }
      case EIGHT_BYTES:
        position += 8;
        break;
      case FOUR_BYTES:
        position += 4;
        break;
      default:
        throw new Error(`etcd sent a field of the unknown kind ${tag % 8}`);
    }
  }
}

/** RangeResponse. */
export function decodeRange(message: Buffer): KeyValue[] {
  const found: KeyValue[] = [];
  for (const { field, bytes } of fields(message)) {
    if (field === 2) found.push(decodeKeyValue(bytes));
  }
  return found;
}

function decodeKeyValue(message: Buffer): KeyValue {
  const read = { key: "", value: "", revision: 0 };
  for (const { field, number, bytes } of fields(message)) {
    if (field === 1) read.key = bytes.toString();
    else if (field === 3) read.revision = number;
    else if (field === 5) read.value = bytes.toString();
  }
  return read;
}

/** TxnResponse; also PutResponse and DeleteRangeResponse as far as the revision goes. */
export function decodeSwapped(message: Buffer): Swapped {
  const read = { done: false, revision: 0 };
  for (const { field, number, bytes } of fields(message)) {
    if (field === 1) read.revision = revisionOf(bytes);
    else if (field === 2) read.done = number === 1;
  }
  return read;
}

/** ResponseHeader. */
function revisionOf(message: Buffer): number {
  for (const { field, number } of fields(message)) {
    if (field === 3) return number;
  }
  return 0;
}
