/**
 * A client of the service for tests: kept connections, JSON in and out, no retries of its own.
 * May import: Node. Rule: a request that got no whole answer is `unknown`, never a failure.
 */
import { Agent, type IncomingHttpHeaders, request } from "node:http";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: AnswerBody;
}

/** An allocation on the wire; see the document for the rest. */
export interface WireAllocation {
  readonly address: string;
  readonly block: string;
  readonly pool: string;
  readonly host: string;
  readonly handle: string;
  readonly state: string;
  readonly sequenceNumber: number;
  readonly allocatedAt: string;
  readonly borrowed: boolean;
  readonly reserved: boolean;
}

/** The outcome of one release on the wire. */
export interface WireRelease {
  readonly address: string;
  readonly handle?: string;
  readonly outcome: string;
  readonly code?: string;
  readonly freeAt?: string;
  readonly sequenceNumber?: number;
}

/** What tests read of answers; each is there where the contract says so. */
export interface AnswerBody extends Partial<WireAllocation>, Partial<Omit<WireRelease, "address">> {
  readonly allocations?: readonly WireAllocation[];
  readonly results?: readonly WireRelease[];
  readonly items?: readonly object[];
  readonly nextCursor?: string;
  readonly replayed?: boolean;
  readonly retry?: string;
}

/** Nobody knows whether the service did it. */
export class AnswerLost extends Error {
  /** Nobody listened, so nobody did it. */
  get neverSent(): boolean {
    return (this.cause as { code?: string } | undefined)?.code === "ECONNREFUSED";
  }
}

/** What is no JSON did not come from the application: the runtime answered in its place. */
function bodyOf(text: string): AnswerBody {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    return { code: "answer_not_json" };
  }
}

/** How long a client waits for an answer, ms: longer than the service waits for anything. */
const ANSWER_WITHIN_MS = 20_000;
/** How long a connection is kept that nobody uses, ms: the service closes it after 15 s, perhaps as it is used. */
const KEPT_MS = 5_000;

export class HttpClient {
  readonly #url: () => string;
  readonly #agent: Agent;

  /** Why a function: the address of a service may change when it is restarted. */
  constructor(url: () => string, connections = 64) {
    this.#url = url;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, timeout: KEPT_MS });
  }

  /** Sends one request. Rejects: `AnswerLost` when no whole answer came. */
  send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return new Promise((settle, fail) => {
      const lost = (cause: Error): void => fail(new AnswerLost(`${method} ${path}`, { cause }));
      const type = body === undefined ? {} : { "Content-Type": "application/json" };
      const sent = request(
        `${this.#url()}${path}`,
        { method, agent: this.#agent, headers: { ...type, ...headers }, timeout: ANSWER_WITHIN_MS },
        (answer) => {
          let text = "";
          answer.setEncoding("utf8").on("data", (chunk: string) => {
            text += chunk;
          });
          answer.once("error", lost);
          answer.once("aborted", () => lost(new Error("cut off")));
          answer.once("end", () => {
            const { statusCode: status = 0, headers: answered } = answer;
            settle({ status, headers: answered, body: bodyOf(text) });
          });
        },
      );
      sent.once("error", lost);
      sent.once("timeout", () => sent.destroy(new Error("no answer in time")));
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Sends a request that must succeed. Rejects: an error that quotes any other answer. */
  async must(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<AnswerBody> {
    const answer = await this.send(method, path, body, headers);
    if (answer.status >= 300) {
      throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    }
    return answer.body;
  }

  /** Reads a list to its end. */
  async all<T>(path: string): Promise<T[]> {
    const items: T[] = [];
    const join = path.includes("?") ? "&" : "?";
    let cursor = "";
    for (let page = 0; page < 1_000; page += 1) {
      const body = await this.must("GET", `${path}${join}limit=1000${cursor}`);
      items.push(...((body.items ?? []) as T[]));
      if (body.nextCursor === undefined) return items;
      cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`;
    }
    throw new Error(`${path} does not end`);
  }

  close(): void {
    this.#agent.destroy();
  }
}
