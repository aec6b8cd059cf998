/**
 * gRPC's unary calls over one HTTP/2 connection (RFC 9113), as little of both as a call on loopback needs.
 * May import: Node. Rule: a refused call, a late one and a broken connection are errors, never an empty answer.
 */
import { connect, type Socket } from "node:net";
import {
  FLAG,
  FRAME,
  type Frame,
  FrameReader,
  frame,
  headerBlock,
  SETTING,
  settings,
  windowUpdate,
} from "./http2-frames.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/** What may be sent to a peer that has not said more. */
const FIRST_WINDOW_BYTES = 65_535;
/** What the server may send without being asked for more; a list of all blocks is some megabytes. */
const OWN_WINDOW_BYTES = 2 ** 30;
const RENEW_AFTER_BYTES = 2 ** 28;
/** gRPC puts before each message whether it is compressed, and its length. */
const MESSAGE_HEAD_BYTES = 5;
const DEADLINE_MS = 20_000;
const LOOK_EVERY_MS = 1_000;

interface Call {
  readonly path: string;
  readonly sentAt: number;
  readonly parts: Buffer[];
  readonly settle: (message: Buffer) => void;
  readonly fail: (reason: Error) => void;
}

interface Waiting {
  readonly stream: number;
  readonly message: Buffer;
}

export class GrpcConnection {
  readonly #socket: Socket;
  readonly #authority: string;
  readonly #headers = new Map<string, Buffer>();
  readonly #calls = new Map<number, Call>();
  readonly #watch: NodeJS.Timeout;
  /** Frames of one turn of the event loop, sent as one. */
  #outgoing: Buffer[] = [];
  #waiting: Waiting[] = [];
  #nextStream = 1;
  #window = FIRST_WINDOW_BYTES;
  #received = 0;
  #broken: Error | undefined;

  constructor(endpoint: string) {
    this.#authority = endpoint;
    const [host = "", port = ""] = endpoint.split(":");
    this.#socket = connect({ host, port: Number(port), noDelay: true });
    const reader = new FrameReader((read) => this.#receive(read));
    this.#socket.on("data", (bytes) => reader.add(bytes));
    this.#socket.once("error", (error) => this.#end(error));
    this.#socket.once("close", () => this.#end(new Error("the connection was closed")));
    // No table of headers is kept, so none has to be followed: only that an answer ends is of interest.
    const own: [number, number][] = [
      [SETTING.headerTableSize, 0],
      [SETTING.enablePush, 0],
      [SETTING.initialWindowSize, OWN_WINDOW_BYTES],
    ];
    this.#socket.write(Buffer.concat([Buffer.from(PREFACE), settings(own), windowUpdate(OWN_WINDOW_BYTES)]));
    this.#watch = setInterval(() => this.#endIfLate(), LOOK_EVERY_MS).unref();
  }

  /** Sends one message to a method and gives the one that comes back. */
  call(path: string, message: Buffer): Promise<Buffer> {
    return new Promise((settle, fail) => {
      if (this.#broken !== undefined) {
        fail(this.#broken);
        return;
      }
      const stream = this.#nextStream;
      this.#nextStream += 2;
      this.#calls.set(stream, { path, sentAt: performance.now(), parts: [], settle, fail });
      const head = Buffer.alloc(MESSAGE_HEAD_BYTES);
      head.writeUInt32BE(message.length, 1);
      this.#waiting.push({ stream, message: Buffer.concat([head, message]) });
      this.#sendWaiting();
    });
  }

  close(): void {
    this.#end(new Error("the connection is not used any more"));
  }

  /** In the order of calls, as far as the server's window allows. */
  #sendWaiting(): void {
    let sent = 0;
    for (const { stream, message } of this.#waiting) {
      if (message.length > this.#window) break;
      this.#window -= message.length;
      const path = this.#calls.get(stream)?.path ?? "";
      this.#send(frame(FRAME.headers, FLAG.endHeaders, stream, this.#headersOf(path)));
      this.#send(frame(FRAME.data, FLAG.endStream, stream, message));
      sent += 1;
    }
    this.#waiting = this.#waiting.slice(sent);
  }

  #headersOf(path: string): Buffer {
    const known = this.#headers.get(path) ?? headerBlock(path, this.#authority);
    this.#headers.set(path, known);
    return known;
  }

  #send(bytes: Buffer): void {
    if (this.#outgoing.push(bytes) > 1) return;
    queueMicrotask(() => {
      this.#socket.write(Buffer.concat(this.#outgoing));
      this.#outgoing = [];
    });
  }

  #receive({ type, flags, stream, payload }: Frame): void {
    switch (type) {
      case FRAME.data:
        this.#calls.get(stream)?.parts.push(payload);
        this.#countReceived(payload.length);
        break;
      case FRAME.resetStream:
        this.#finish(stream, "was reset");
        return;
      case FRAME.settings:
        if ((flags & FLAG.ack) === 0) this.#send(frame(FRAME.settings, FLAG.ack, 0));
        return;
      case FRAME.ping:
        if ((flags & FLAG.ack) === 0) this.#send(frame(FRAME.ping, FLAG.ack, 0, payload));
        return;
      case FRAME.goAway:
        this.#end(new Error("the server closes the connection"));
        return;
      case FRAME.windowUpdate:
        if (stream !== 0) return;
        this.#window += payload.readUInt32BE(0);
        this.#sendWaiting();
        return;
    }
    const mayEnd = type === FRAME.data || type === FRAME.headers;
    if (mayEnd && (flags & FLAG.endStream) !== 0) this.#finish(stream, "was refused");
  }

  #countReceived(length: number): void {
    this.#received += length;
    if (this.#received < RENEW_AFTER_BYTES) return;
    this.#send(windowUpdate(this.#received));
    this.#received = 0;
  }

  /** A call that is refused has no message, only a status in its last headers. */
  #finish(stream: number, otherwise: string): void {
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    this.#calls.delete(stream);
    const answer = call.parts.length === 1 ? call.parts[0] : Buffer.concat(call.parts);
    const isWhole =
      answer !== undefined &&
      answer.length >= MESSAGE_HEAD_BYTES &&
      answer.readUInt32BE(1) === answer.length - MESSAGE_HEAD_BYTES;
    if (isWhole) call.settle(answer.subarray(MESSAGE_HEAD_BYTES));
    else call.fail(new Error(`the call of ${call.path} ${otherwise}`));
  }

  /** Calls are answered about in the order they were sent: the oldest one tells. */
  #endIfLate(): void {
    const [oldest] = this.#calls.values();
    if (oldest !== undefined && performance.now() - oldest.sentAt > DEADLINE_MS) {
      this.#end(new Error(`the call of ${oldest.path} had no answer for ${DEADLINE_MS} ms`));
    }
  }

  #end(reason: Error): void {
    this.#broken ??= reason;
    clearInterval(this.#watch);
    this.#socket.destroy();
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const { fail } of calls) fail(this.#broken);
  }
}
