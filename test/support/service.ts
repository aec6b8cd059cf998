/**
 * The service as tests see it: bare workerd on a free port, with its own data folder.
 * May import: src/tools and Node. Everything it makes is removed again by `stop` or `remove`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterAccess } from "../../src/tools/cluster-access.ts";
import { type Launched, launch } from "../../src/tools/launch.ts";

export interface ServiceOptions {
  /** Absent: a temporary folder that `stop` removes. */
  dataDir?: string;
  /** Absent: the deployed entry file. */
  entry?: string;
  /** Further text bindings. */
  vars?: Record<string, string>;
  /** The secret IPAM_TOKENS; absent: AUTH_MODE=none. */
  tokens?: string;
  /** The cluster whose nodes the hosts are; absent: none is asked. */
  kubernetes?: ClusterAccess;
}

export interface Service {
  readonly url: string;
  /** The process id of workerd. */
  readonly pid: number;
  readonly dataDir: string;
  /** What workerd and the Worker printed, the last 64 KiB. */
  log(): string;
  /** SIGTERM; removes the data folder if it was a temporary one. */
  stop(): Promise<void>;
  /** SIGKILL; the data folder stays. */
  kill(): Promise<void>;
  /** Starts again on the same data and port, after `kill`, or after a SIGTERM of its own. */
  restart(): Promise<void>;
}

/** Starts the service and waits until it answers. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const temporary = options.dataDir === undefined;
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "edge-ipam-"));
  let log = "";
  const start = async (port: number): Promise<{ launched: Launched; url: string }> => {
    const launched = await launch({
      dataFolder: dataDir,
      port,
      address: "127.0.0.1",
      ...(options.entry === undefined ? {} : { entry: options.entry }),
      ...(options.vars === undefined ? {} : { vars: options.vars }),
      ...(options.tokens === undefined ? {} : { tokens: options.tokens }),
      ...(options.kubernetes === undefined ? {} : { kubernetes: options.kubernetes }),
      onLog: (text) => {
        log = (log + text).slice(-65_536);
      },
    });
    try {
      return { launched, url: await launched.ready };
    } catch (error) {
      await launched.kill();
      throw error;
    }
  };
  const removeTemporary = (): void => {
    if (temporary) {
      rmSync(dataDir, { recursive: true, force: true });
    }
  };
  let { launched, url } = await start(0).catch((error: unknown) => {
    removeTemporary();
    throw error;
  });
  return {
    get url() {
      return url;
    },
    get pid() {
      return launched.pid;
    },
    dataDir,
    log: () => log,
    async stop() {
      await launched.stop();
      removeTemporary();
    },
    kill: () => launched.kill(),
    async restart() {
      await launched.stop();
      ({ launched, url } = await start(Number(new URL(url).port)));
    },
  };
}
