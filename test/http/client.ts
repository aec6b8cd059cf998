/** Calls of the running service, as a test writes them. */
import type { Service } from "../support/service.ts";

/** One answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; undefined without a body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at members that they state themselves
  readonly body: any;
  readonly text: string;
}

export interface Client {
  (method: string, path: string, json?: unknown, headers?: Record<string, string>): Promise<Answer>;
  readonly url: string;
}

/** Makes a client of a service, as the caller with a token or as nobody. */
export function clientOf(service: Pick<Service, "url">, token?: string): Client {
  const send = async (method: string, path: string, json?: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${service.url}${path}`, {
      method,
      headers: {
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(json === undefined ? {} : { body: typeof json === "string" ? json : JSON.stringify(json) }),
      redirect: "manual",
    });
    const text = await answer.text();
    const isJson = /json/.test(answer.headers.get("content-type") ?? "");
    return {
      status: answer.status,
      headers: answer.headers,
      body: isJson && text !== "" ? JSON.parse(text) : undefined,
      text,
    };
  };
  return Object.assign(send, { url: service.url });
}

/** Calls until an answer has a status; for setting up, where anything else is a failure of the test. */
export async function expectStatus(answer: Promise<Answer>, ...statuses: number[]): Promise<Answer> {
  const got = await answer;
  if (!statuses.includes(got.status)) throw new Error(`expected ${statuses}, got ${got.status}: ${got.text}`);
  return got;
}
