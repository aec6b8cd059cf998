/**
 * A relay on loopback between the plugin and the real service that can lose an answer and repeat a request.
 * May import: Node. The service sees each request as it was sent; what is lost was answered.
 */

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface Passed {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** What the service answered, whether or not it was passed on. */
  status: number;
  answer: string;
}

export interface Relay {
  url: string;
  passed: Passed[];
  /** Drops the connection instead of passing on the answers for which this says so. */
  lose(isLost: (passed: Passed) => boolean): void;
  /** Sends an old request again, as a network does that held it back, and gives its answer. */
  repeat(old: Passed): Promise<Passed>;
  close(): Promise<void>;
}

/** Starts a relay to a service on a free port. */
export async function startRelay(service: () => string): Promise<Relay> {
  const passed: Passed[] = [];
  let isLost: (passed: Passed) => boolean = () => false;
  const send = async (request: Omit<Passed, "status" | "answer">): Promise<Passed> => {
    const { method, path, headers, body } = request;
    const response = await fetch(`${service()}${path}`, {
      method,
      headers,
      ...(body === "" ? {} : { body }),
      signal: AbortSignal.timeout(120_000),
    });
    return { ...request, status: response.status, answer: await response.text() };
  };
  const server = createServer((incoming, outgoing) => {
    read(incoming)
      .then(send)
      .then((done) => {
        passed.push(done);
        if (isLost(done)) return outgoing.destroy();
        const type = done.status < 400 ? "application/json" : "application/problem+json";
        return outgoing.writeHead(done.status, { "content-type": type }).end(done.answer);
      })
      .catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    passed,
    lose: (decide) => {
      isLost = decide;
    },
    repeat: send,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** Headers of the connection itself belong to one hop. */
const OF_ONE_HOP = ["connection", "host", "content-length", "transfer-encoding", "keep-alive"];

async function read(incoming: IncomingMessage): Promise<Omit<Passed, "status" | "answer">> {
  let body = "";
  incoming.setEncoding("utf8");
  for await (const chunk of incoming) body += String(chunk);
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).flatMap(([name, value]) =>
      typeof value === "string" && !OF_ONE_HOP.includes(name) ? [[name, value]] : [],
    ),
  );
  return { method: incoming.method ?? "", path: incoming.url ?? "", headers, body };
}
