/**
 * The small gRPC client of the etcd peer against Node's own HTTP/2, which takes nothing that the RFC forbids.
 * May import: bench/peers, Node.
 */
import { createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GrpcConnection } from "../../bench/peers/grpc-connection.ts";
import { FRAME, type Frame, FrameReader, frame } from "../../bench/peers/http2-frames.ts";

const MESSAGE_HEAD_BYTES = 5;

function withHead(message: Buffer): Buffer {
  const head = Buffer.alloc(MESSAGE_HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

async function readAll(stream: ServerHttp2Stream): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).subarray(MESSAGE_HEAD_BYTES);
}

async function answerTo(stream: ServerHttp2Stream, path: string): Promise<void> {
  const asked = await readAll(stream);
  if (path === "/refused") {
    stream.respond({ "content-type": "application/grpc", "grpc-status": 12 }, { endStream: true });
  } else if (path === "/reset") {
    stream.close(2);
  } else if (path === "/cut") {
    stream.session?.destroy();
  } else {
    const message = path === "/long" ? Buffer.alloc(3_000_000, asked) : asked;
    stream.respond({ "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": 0 }));
    stream.end(withHead(message));
  }
}

describe("a call over the small gRPC client", () => {
  let server: Http2Server;
  let connection: GrpcConnection;
  let headers: object[];

  beforeEach(async () => {
    headers = [];
    server = createServer();
    server.on("sessionError", () => undefined);
    server.on("stream", (stream, asked) => {
      headers.push({ ...asked });
      stream.on("error", () => undefined);
      void answerTo(stream, asked[":path"] ?? "").catch(() => undefined);
    });
    await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
    const bound = server.address();
    connection = new GrpcConnection(`127.0.0.1:${typeof bound === "object" ? bound?.port : 0}`);
  });

  afterEach(async () => {
    connection.close();
    await new Promise((settle) => server.close(settle));
  });

  it("says what a gRPC server asks for", async () => {
    expect((await connection.call("/same", Buffer.from("hello"))).toString()).toBe("hello");
    expect(headers).toMatchObject([
      { ":method": "POST", ":scheme": "http", "content-type": "application/grpc", te: "trailers" },
    ]);
  });

  it("keeps answers of many calls apart, longer together than the server's window", async () => {
    const messages = Array.from({ length: 200 }, (_, count) => Buffer.alloc(1 + count * 150, `${count};`));
    const answers = await Promise.all(messages.map((message) => connection.call("/same", message)));
    expect(answers.every((answer, position) => messages[position]?.equals(answer))).toBe(true);
  });

  it("reads an answer of megabytes, and goes on", async () => {
    expect(await connection.call("/long", Buffer.from("x"))).toHaveLength(3_000_000);
    expect((await connection.call("/same", Buffer.from("after"))).toString()).toBe("after");
  });

  it("gives an empty message where the answer is one", async () => {
    expect(await connection.call("/same", Buffer.alloc(0))).toHaveLength(0);
  });

  it("fails where the call is refused or reset, and goes on", async () => {
    await expect(connection.call("/refused", Buffer.alloc(1))).rejects.toThrow("/refused was refused");
    await expect(connection.call("/reset", Buffer.alloc(1))).rejects.toThrow("/reset was reset");
    expect((await connection.call("/same", Buffer.from("after"))).toString()).toBe("after");
  });

  it("fails whatever was under way, and what comes after, where the connection is cut", async () => {
    const calls = ["/cut", "/same", "/cut"].map((path) => connection.call(path, Buffer.alloc(1)));
    const ends = await Promise.allSettled(calls);
    expect([ends[0]?.status, ends[2]?.status]).toEqual(["rejected", "rejected"]);
    await expect(connection.call("/same", Buffer.alloc(1))).rejects.toThrow();
  });

  it("fails where nobody listens", async () => {
    const nobody = new GrpcConnection("127.0.0.1:1");
    await expect(nobody.call("/same", Buffer.alloc(1))).rejects.toThrow("ECONNREFUSED");
  });
});

describe("frames", () => {
  it("are read the same wherever the bytes are divided", () => {
    const sent = Buffer.concat([
      frame(FRAME.ping, 1, 0, Buffer.from("12345678")),
      frame(FRAME.data, 1, 5, Buffer.alloc(40_000, "abc")),
      frame(FRAME.settings, 1, 0),
    ]);
    for (const size of [1, 7, 9, 10, 16_393, 100_000]) {
      const frames: Frame[] = [];
      const reader = new FrameReader((one) => frames.push(one));
      for (let at = 0; at < sent.length; at += size) reader.add(sent.subarray(at, at + size));
      expect(frames.map(({ type, flags, payload }) => [type, flags, payload.length])).toEqual([
        [FRAME.ping, 1, 8],
        [FRAME.data, 0, 16_384],
        [FRAME.data, 0, 16_384],
        [FRAME.data, 1, 7_232],
        [FRAME.settings, 1, 0],
      ]);
    }
  });

  it("lose their padding", () => {
    const frames: Frame[] = [];
    const reader = new FrameReader((one) => frames.push(one));
    reader.add(frame(FRAME.data, 8, 1, Buffer.from([2, 65, 66, 0, 0])));
    reader.add(frame(FRAME.data, 8, 1, Buffer.from([0, 67])));
    expect(frames.map(({ payload }) => payload.toString())).toEqual(["AB", "C"]);
  });
});
