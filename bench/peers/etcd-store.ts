/**
 * Keys and values in etcd over gRPC: reads, lists, and writes by compare-and-swap.
 * May import: the messages, gRPC. Rule: reads are linearizable, which is etcd's default.
 */
import { Client, credentials } from "@grpc/grpc-js";
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
/** A list of all blocks is larger than the 4 MB that gRPC allows by itself. */
const ANSWER_BYTES_MAX = 256 * 1024 ** 2;

export class EtcdStore {
  readonly #client: Client;

  /** One connection that all requests share, as etcd's own clients have it. */
  constructor(endpoint: string) {
    this.#client = new Client(endpoint, credentials.createInsecure(), {
      "grpc.max_receive_message_length": ANSWER_BYTES_MAX,
      "grpc.use_local_subchannel_pool": 1,
    });
  }

  async get(key: string): Promise<KeyValue | undefined> {
    const [found] = await this.#call("Range", { key }, encodeRange, decodeRange);
    return found;
  }

  /** All keys that begin so, in the order of keys. */
  list(prefix: string): Promise<KeyValue[]> {
    return this.#call("Range", { key: prefix, end: endOf(prefix) }, encodeRange, decodeRange);
  }

  /** Writes or deletes if the key is still at this revision; absent: it was not. Shape: the new revision. */
  async swap(swap: Swap): Promise<number | undefined> {
    const { done, revision } = await this.#call("Txn", swap, encodeSwap, decodeSwapped);
    return done ? revision : undefined;
  }

  async put(key: string, value: string): Promise<void> {
    await this.#call("Put", { key, value }, encodePut, decodeSwapped);
  }

  /** Deletes all keys that begin so, and their earlier versions. */
  async clear(prefix: string): Promise<void> {
    const range = { key: prefix, end: endOf(prefix) };
    const { revision } = await this.#call("DeleteRange", range, encodeRange, decodeSwapped);
    await this.#call("Compact", revision, encodeCompaction, decodeSwapped);
  }

  close(): void {
    this.#client.close();
  }

  #call<Request, Answer>(
    method: string,
    request: Request,
    encode: (request: Request) => Buffer,
    decode: (message: Buffer) => Answer,
  ): Promise<Answer> {
    return new Promise((settle, fail) => {
      const path = `/etcdserverpb.KV/${method}`;
      const options = { deadline: Date.now() + DEADLINE_MS };
      this.#client.makeUnaryRequest(path, encode, decode, request, options, (error, answer) => {
        if (error !== null) fail(error);
        else if (answer === undefined) fail(new Error(`etcd answered ${method} with nothing`));
        else settle(answer);
      });
    });
  }
}

/** The first key after all that begin so: the last character is one higher. */
function endOf(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}
