/**
 * One connection that speaks just enough HTTP/1.1 to load a server: one request at a time, kept alive.
 * May import: Node. Why: Node's own client takes four times the processor time for a request.
 */
import { connect, type Socket } from "node:net";

export interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Waiting {
  readonly settle: (answer: Answer) => void;
  readonly fail: (error: Error) => void;
}

const HEAD_END = "\r\n\r\n";
const LAST_CHUNK = "0\r\n\r\n";

export class Connection {
  readonly #socket: Socket;
  #waiting: Waiting | undefined;
  #text = "";
  #isOpen = true;

  private constructor(socket: Socket) {
    this.#socket = socket;
    // What is sent back is JSON in ASCII.
    socket.setEncoding("latin1").setNoDelay(true);
    socket.on("data", (text: string) => this.#take(text));
    socket.once("error", (error) => this.#end(error));
    socket.once("close", () => this.#end(new Error("the server closed the connection")));
  }

  static open(host: string, port: number): Promise<Connection> {
    return new Promise((settle, fail) => {
      const socket = connect(port, host);
      socket.once("error", fail);
      socket.once("connect", () => {
        socket.off("error", fail);
        settle(new Connection(socket));
      });
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  send(bytes: string): Promise<Answer> {
    return new Promise((settle, fail) => {
      if (!this.#isOpen) return fail(new Error("the connection is closed"));
      this.#waiting = { settle, fail };
      this.#socket.write(bytes);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#text = this.#text === "" ? text : this.#text + text;
    const answer = read(this.#text);
    if (answer === undefined) return;
    this.#text = "";
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.settle(answer);
  }

  #end(error: Error): void {
    this.#isOpen = false;
    this.#waiting?.fail(error);
    this.#waiting = undefined;
  }
}

/** Absent: there is more to come. */
function read(text: string): Answer | undefined {
  const headEnd = text.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const status = Number(text.slice(9, 12));
  const head = text.slice(0, headEnd + 2);
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1];
  const bodyAt = headEnd + HEAD_END.length;
  if (length !== undefined) {
    return text.length < bodyAt + Number(length) ? undefined : { status, text: text.slice(bodyAt) };
  }
  if (/\r\ntransfer-encoding: *chunked\r\n/i.test(head)) {
    return text.endsWith(LAST_CHUNK) ? { status, text: joined(text, bodyAt) } : undefined;
  }
  return { status, text: "" };
}

/** The body without the lengths of its chunks. */
function joined(text: string, bodyAt: number): string {
  let body = "";
  for (let at = bodyAt; ; ) {
    const lengthEnd = text.indexOf("\r\n", at);
    const length = Number.parseInt(text.slice(at, lengthEnd), 16);
    if (!(length > 0)) return body;
    body += text.slice(lengthEnd + 2, lengthEnd + 2 + length);
    at = lengthEnd + 2 + length + 2;
  }
}
