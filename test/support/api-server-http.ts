/** The API server of `api-server.ts` on a port of loopback, with or without TLS, and as a `fetch` without any. */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Fetch } from "../../src/gc/kubernetes-client.ts";
import type { ApiServer } from "./api-server.ts";

export interface Listening {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves on a free port; `tls` names the files of the certificate and its key. */
export async function listen(
  api: ApiServer,
  tls?: { readonly cert: string; readonly key: string },
): Promise<Listening> {
  const timers = new Set<NodeJS.Timeout>();
  const handle: RequestListener = (request: IncomingMessage, response: ServerResponse) => {
    const answer = api.answer(request.url ?? "/", request.headers);
    if (answer.hangs) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      const bytes = Buffer.from(answer.text);
      response.writeHead(answer.status, { ...answer.headers, "content-length": bytes.length });
      if (answer.cutAt === undefined) response.end(bytes);
      else response.write(bytes.subarray(0, answer.cutAt), () => response.destroy());
    }, answer.delayMs);
    timers.add(timer);
  };
  const server =
    tls === undefined
      ? createServer(handle)
      : createTlsServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) }, handle);
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}${api.base}`,
    close: async () => {
      for (const timer of timers) clearTimeout(timer);
      server.closeAllConnections();
      await new Promise((settle) => server.close(settle));
    },
  };
}

/** Asks it in this process. `sleep` is what slow answers wait with. */
export function fetchFrom(api: ApiServer, sleep: (ms: number) => Promise<void>): Fetch {
  return async (url, { headers, signal }) => {
    const { pathname, search } = new URL(url);
    const answer = api.answer(`${pathname}${search}`, headers);
    const ended = new Promise<never>((_, fail) => {
      signal.addEventListener("abort", () => fail(new Error("aborted")), { once: true });
    });
    if (answer.hangs) return await ended;
    if (answer.delayMs > 0) await Promise.race([sleep(answer.delayMs), ended]);
    ended.catch(() => undefined);
    const bytes = new TextEncoder().encode(answer.text);
    const { cutAt } = answer;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.subarray(0, cutAt ?? bytes.length));
        if (cutAt === undefined) controller.close();
      },
      pull(controller) {
        controller.error(new Error("the connection was cut"));
      },
    });
    return new Response(body, { status: answer.status, headers: answer.headers });
  };
}
