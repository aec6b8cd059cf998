/**
 * The Worker's handler around the application, made once per isolate. May import: http.
 * Rule: what the Worker logs of a defect holds no body, no attribute and no token.
 */
import { type AppOptions, createApp } from "./app.ts";
import type { Assets } from "./pages.ts";

/** What of an environment concerns the HTTP face; secrets and modes may be absent. */
export interface WorkerEnv {
  readonly ASSETS?: Assets;
  readonly AUTH_MODE?: string;
  readonly IPAM_TOKENS?: string;
}

type Outside = Pick<AppOptions, "ports" | "policy" | "settings" | "now" | "sleep" | "keep" | "unique">;

/** What the platform gives beside a request: work may go on in it after the answer. */
type Background = Parameters<ReturnType<typeof createApp>["fetch"]>[2];

/** Makes the fetch handler of a deployment; its runtime is made at the first request. */
export function createFetch<E extends WorkerEnv>(
  outsideOf: (env: E) => Outside,
  classify: AppOptions["classify"],
) {
  let app: ReturnType<typeof createApp> | undefined;
  return async (request: Request, env: E, ctx: Background): Promise<Response> => {
    app ??= createApp(optionsOf(env, outsideOf(env), classify));
    return await app.fetch(request, env, ctx);
  };
}

function optionsOf(env: WorkerEnv, outside: Outside, classify: AppOptions["classify"]): AppOptions {
  const { ports, policy, settings, now, sleep, keep, unique } = outside;
  return {
    ports,
    policy,
    settings,
    now,
    sleep,
    unique,
    ...(keep === undefined ? {} : { keep }),
    auth: {
      ...(env.AUTH_MODE === undefined ? {} : { mode: env.AUTH_MODE }),
      ...(env.IPAM_TOKENS === undefined ? {} : { tokens: env.IPAM_TOKENS }),
    },
    ...(env.ASSETS === undefined ? {} : { assets: env.ASSETS }),
    classify,
    report: (requestId, error) => {
      const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
      console.error(JSON.stringify({ requestId, name, message, stack }));
    },
  };
}
