/**
 * The demonstration's calls over HTTP, with what it reads of the answers.
 * May import: Node, fetch. Rule: an answer that was not foreseen ends the demonstration with its text.
 */
import * as screen from "./screen.ts";

export interface Allocation {
  readonly address: string;
  readonly pool: string;
  readonly handle: string;
  readonly freeAt?: string;
}

export interface Usage {
  readonly pool: string;
  readonly cidr: string;
  readonly allocated: string;
  readonly cooling: string;
  readonly available: string;
  readonly usedPercent: number;
  readonly blocks: number;
}

export interface Route {
  readonly destination: string;
  readonly host: string;
  readonly kind: string;
}

/** What is read of answers; each member is there where the document says so. */
export interface Answer {
  readonly allocations: readonly Allocation[];
  readonly items: readonly unknown[];
  readonly results: readonly Allocation[];
  readonly nextCursor?: string;
  readonly replayed: boolean;
  readonly released: number;
  readonly ipCooldownSeconds: number;
  readonly code?: string;
  readonly detail?: string;
  readonly hint?: string;
  readonly retry?: string;
}

export interface Call {
  readonly body?: unknown;
  readonly key?: string;
  /** The status that is expected; absent: any 2xx. */
  readonly status?: number;
  /** Shows the request. */
  readonly isShown?: boolean;
}

/** How often a request is sent that the service asks to send again. */
const TRIES_MAX = 6;

export class Calls {
  /** Where the service is; it may move when it is started again. */
  url: string;
  readonly token: string | undefined;
  #isInterrupted = false;

  constructor(url: string, token: string | undefined) {
    this.url = url;
    this.token = token;
  }

  /** Lets every further call fail. */
  interrupt(): void {
    this.#isInterrupted = true;
  }

  /** Sends a request, again if the service says so. Rejects: an error that says what else came. */
  async send(method: string, path: string, call: Call = {}): Promise<Answer> {
    if (this.#isInterrupted) throw new Error("interrupted");
    if (call.isShown === true) screen.request(method, path, call.body, call.key);
    for (let tries = 1; ; tries += 1) {
      const { status, text } = await this.#once(method, path, call);
      const answer = (text === "" ? {} : JSON.parse(text)) as Answer;
      if (call.status === undefined ? status < 300 : status === call.status) return answer;
      if (status !== 503 || tries === TRIES_MAX) {
        const { code, detail, hint } = answer;
        const token = status === 401 || status === 403 ? ` ${this.#tokenHint()}` : "";
        throw new Error(`${method} ${path} was answered ${status} ${code}: ${detail} Next: ${hint}${token}`);
      }
      await new Promise((wake) => setTimeout(wake, 200 * 2 ** tries));
    }
  }

  /** Reads a list to its end. */
  async all<T>(path: string): Promise<T[]> {
    const items: T[] = [];
    let from = "";
    do {
      const page = await this.send("GET", `${path}${path.includes("?") ? "&" : "?"}limit=1000${from}`);
      items.push(...(page.items as readonly T[]));
      from = page.nextCursor === undefined ? "" : `&cursor=${encodeURIComponent(page.nextCursor)}`;
    } while (from !== "");
    return items;
  }

  #tokenHint(): string {
    return `IPAM_TOKEN ${this.token === undefined ? "is not set" : "was sent"}: it must hold an admin's token.`;
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(`${this.url}${path}`, init);
    } catch (thrown) {
      const { cause, message } = thrown as Error & { cause?: { code?: string; message?: string } };
      throw new Error(
        `${this.url} cannot be reached (${cause?.code ?? cause?.message ?? message}). Does the service run there?`,
      );
    }
  }

  async #once(method: string, path: string, { body, key }: Call): Promise<{ status: number; text: string }> {
    const answer = await this.#fetch(path, {
      method,
      redirect: "manual",
      signal: AbortSignal.timeout(60_000),
      headers: {
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(key === undefined ? {} : { "Idempotency-Key": key }),
        ...(this.token === undefined ? {} : { Authorization: `Bearer ${this.token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const type = answer.headers.get("content-type") ?? "";
    const text = await answer.text();
    if (text !== "" && !type.includes("json")) {
      throw new Error(`${this.url} answered ${answer.status} with ${type}: that is not this service`);
    }
    return { status: answer.status, text };
  }
}
