/**
 * The Worker's handler around the application, made once per isolate. May import: http, platform.
 * Rule: what the Worker logs of a defect holds no body, no attribute and no token.
 */
import { rejection } from "../core/errors.ts";
import { classify, type PlatformFailure } from "../platform/failure.ts";
import { type AppOptions, createApp } from "./app.ts";

/** What of an environment concerns the HTTP face; secrets and modes may be absent. */
export interface WorkerEnv {
  readonly ASSETS?: Fetcher;
  readonly AUTH_MODE?: string;
  readonly IPAM_TOKENS?: string;
}

/** What a failure of the platform is to the caller; an unknown one is taken for a defect. */
const REFUSALS: Record<PlatformFailure, ReturnType<AppOptions["classify"]>> = {
  overloaded: rejection("overloaded", { where: "platform" }, 1),
  // It never arrived, or its answer was lost: whoever repeats it must use the same key.
  unreachable: rejection("outcome_unknown", {}, 1),
  storage: rejection("storage_unavailable", {}, 1),
  unknown: undefined,
};

type Outside = Pick<AppOptions, "ports" | "policy" | "settings" | "now" | "sleep" | "unique">;

/** Makes the fetch handler of a deployment; its runtime is made at the first request. */
export function createFetch<E extends WorkerEnv>(outsideOf: (env: E) => Outside) {
  let app: ReturnType<typeof createApp> | undefined;
  return async (request: Request, env: E, ctx: ExecutionContext): Promise<Response> => {
    app ??= createApp(optionsOf(env, outsideOf(env)));
    return await app.fetch(request, env, ctx);
  };
}

function optionsOf(env: WorkerEnv, outside: Outside): AppOptions {
  const { ports, policy, settings, now, sleep, unique } = outside;
  return {
    ports,
    policy,
    settings,
    now,
    sleep,
    unique,
    auth: {
      ...(env.AUTH_MODE === undefined ? {} : { mode: env.AUTH_MODE }),
      ...(env.IPAM_TOKENS === undefined ? {} : { tokens: env.IPAM_TOKENS }),
    },
    ...(env.ASSETS === undefined ? {} : { assets: env.ASSETS }),
    classify: (error) => REFUSALS[classify(error)],
    report: (requestId, error) => {
      const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
      console.error(JSON.stringify({ requestId, name, message, stack }));
    },
  };
}
