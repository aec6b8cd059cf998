/**
 * Keys and values in etcd over gRPC: reads, lists, and writes by compare-and-swap.
 * May import: the messages, the connection. Rule: reads are linearizable, which is etcd's default.
 */
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
import { GrpcConnection } from "./grpc-connection.ts";

export type { KeyValue };

export class EtcdStore {
  readonly #connection: GrpcConnection;

  /** One connection that all requests share, as etcd's own clients have it. */
  constructor(endpoint: string) {
    this.#connection = new GrpcConnection(endpoint);
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
    this.#connection.close();
  }

  #call(method: string, message: Buffer): Promise<Buffer> {
    return this.#connection.call(`/etcdserverpb.KV/${method}`, message);
  }
}

/** The first key after all that begin so: the last character is one higher. */
function endOf(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}
