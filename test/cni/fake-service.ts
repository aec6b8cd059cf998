/**
 * An HTTP server on loopback that answers as it is told and remembers what it was asked.
 * May import: Node. It knows nothing of the contract: each test says the answer.
 */

import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export interface Asked {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: unknown;
}

export interface Answer {
  status: number;
  contentType?: string;
  headers?: Record<string, string>;
  body: string;
}

export interface FakeService {
  url: string;
  asked: Asked[];
  /** Sets the answers of the following requests, the last one for all that follow; "never" keeps them waiting. */
  answerWith(...answers: (Answer | "never")[]): void;
  close(): Promise<void>;
}

const UNSET: Answer = { status: 500, contentType: "text/plain", body: "no answer set" };

/** Starts the server on a free port. */
export async function startFakeService(): Promise<FakeService> {
  const asked: Asked[] = [];
  let answers: (Answer | "never")[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    request.on("end", () => {
      const body: unknown = text === "" ? undefined : JSON.parse(text);
      asked.push({ method: request.method ?? "", path: request.url ?? "", headers: request.headers, body });
      const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? UNSET;
      if (answer === "never") return;
      const type = answer.contentType === undefined ? {} : { "content-type": answer.contentType };
      response.writeHead(answer.status, { ...type, ...answer.headers });
      response.end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    answerWith: (...next) => {
      answers = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** An answer with a JSON body. */
export function json(status: number, body: unknown, contentType = "application/json"): Answer {
  return { status, contentType, body: JSON.stringify(body) };
}

/** A refusal as the service sends it. */
export function problem(status: number, code: string, more: Record<string, unknown> = {}): Answer {
  const body = {
    type: `/docs/errors/${code}`,
    title: "Refused",
    status,
    code,
    detail: "What was wrong.",
    requestId: "request-1",
    retry: "no",
    ...more,
  };
  return json(status, body, "application/problem+json");
}

/** An allocation of the given family, as the contract's first example has it. */
export function allocation(family: 4 | 6, more: Record<string, unknown> = {}): Record<string, unknown> {
  const address = family === 4 ? "10.244.3.17" : "fd00:10:244::1c0";
  return {
    address,
    interfaceAddress: `${address}/${family === 4 ? 26 : 122}`,
    family,
    pool: "default",
    block: family === 4 ? "10.244.3.0/26" : "fd00:10:244::1c0/122",
    host: "node-1",
    handle: "net1.abc",
    use: "Workload",
    state: "allocated",
    attributes: { node: "node-1" },
    sequenceNumber: 118,
    allocatedAt: "2026-11-29T02:51:07.412Z",
    borrowed: false,
    reserved: false,
    ...more,
  };
}

/** The answer of a successful allocation. */
export function allocated(...allocations: Record<string, unknown>[]): Answer {
  return json(201, { allocations, shortfall: [], replayed: false, reused: false });
}

/** The answer of a release with these outcomes. */
export function released(...results: Record<string, unknown>[]): Answer {
  const count = (outcome: string): number => results.filter((result) => result.outcome === outcome).length;
  return json(200, {
    released: count("released"),
    alreadyFree: count("already_free"),
    rejected: count("rejected"),
    results,
  });
}
