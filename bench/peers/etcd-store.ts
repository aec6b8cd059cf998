/**
 * Keys and values in etcd over gRPC: reads, lists, and writes by compare-and-swap.
 * May import: the messages, Node. Rule: reads are linearizable, which is etcd's default.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import {
  decodeRange,
  decodeSwapped,
  encodeCompaction,
  encodePut,
  encodeRange,
  encodeSwap,
  type KeyValue,
  type Swap,
} from "./etcd-wire.ts";

export type { KeyValue };

const DEADLINE_MS = 20_000;
/** Of HTTP/2's flow control: a list of all blocks must not wait for leave to go on. */
const WINDOW_BYTES = 16 * 1024 ** 2;
/** gRPC puts before each message whether it is compressed, and its length. */
const FRAME_HEAD_BYTES = 5;
const GRPC_OK = "0";

export class EtcdStore {
  readonly #session: ClientHttp2Session;

  /**
   * One connection that all requests share, as etcd's own clients have it.
   * Why: gRPC is written out here because the library for Node takes two and a half times as much of
   * the processor that etcd needs too: 140 µs of it for a request instead of 55.
   */
  constructor(endpoint: string) {
    this.#session = connect(`http://${endpoint}`, { settings: { initialWindowSize: WINDOW_BYTES } });
    this.#session.once("connect", () => this.#session.setLocalWindowSize(WINDOW_BYTES));
    // Each request that was under way fails by itself, and says why.
    this.#session.on("error", () => undefined);
  }

  async get(key: string): Promise<KeyValue | undefined> {
    const [found] = decodeRange(await this.#call("Range", encodeRange({ key })));
    return found;
  }

  /** All keys that begin so, in the order of keys. */
  async list(prefix: string): Promise<KeyValue[]> {
    return decodeRange(await this.#call("Range", encodeRange({ key: prefix, end: endOf(prefix) })));
  }

  /** Writes or deletes if the key is still at this revision; absent: it was not. Shape: the new revision. */
  async swap(swap: Swap): Promise<number | undefined> {
    const { done, revision } = decodeSwapped(await this.#call("Txn", encodeSwap(swap)));
    return done ? revision : undefined;
  }

  async put(key: string, value: string): Promise<void> {
    await this.#call("Put", encodePut({ key, value }));
  }

  /** Deletes all keys that begin so, and their earlier versions. */
  async clear(prefix: string): Promise<void> {
    const range = encodeRange({ key: prefix, end: endOf(prefix) });
    const { revision } = decodeSwapped(await this.#call("DeleteRange", range));
    await this.#call("Compact", encodeCompaction(revision));
  }

  close(): void {
    this.#session.close();
  }

  /** Rejects: what etcd refused, or that it did not answer in time. */
  #call(method: string, message: Buffer): Promise<Buffer> {
    return new Promise((settle, fail) => {
      const stream = this.#session.request({
        ":method": "POST",
        ":path": `/etcdserverpb.KV/${method}`,
        "content-type": "application/grpc",
        te: "trailers",
      });
      stream.setTimeout(DEADLINE_MS, () => stream.destroy(new Error(`etcd is late with ${method}`)));
      readAnswer(stream).then(settle, (error) => fail(new Error(`etcd, ${method}: ${error}`)));
      stream.end(framed(message));
    });
  }
}

function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function readAnswer(stream: ClientHttp2Stream): Promise<Buffer> {
  return new Promise((settle, fail) => {
    const parts: Buffer[] = [];
    let [status, reason]: [unknown, unknown] = [undefined, undefined];
    const note = (headers: { readonly [name: string]: unknown }): void => {
      status ??= headers["grpc-status"];
      reason ??= headers["grpc-message"];
    };
    // A refusal may come without a body, and then has its status in the first headers.
    stream.once("response", note).once("trailers", note);
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.once("error", fail);
    stream.once("close", () => {
      const [only] = parts;
      if (status !== GRPC_OK || only === undefined) fail(new Error(`status ${status}: ${reason}`));
      else settle((parts.length === 1 ? only : Buffer.concat(parts)).subarray(FRAME_HEAD_BYTES));
    });
  });
}

/** The first key after all that begin so: the last character is one higher. */
function endOf(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}
