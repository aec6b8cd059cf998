/**
 * The service that a benchmark drives: bare workerd on a temporary folder, with the routes to compare with.
 * May import: the launcher, the target. Rule: whoever starts it ends it, and nothing stays behind.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch } from "../src/tools/launch.ts";
import { processorSeconds, residentMegabytes } from "./processes.ts";
import { Target } from "./target.ts";

/** What ends a service at once, should this program be told to end. */
const ends = new Set<() => void>();
process.once("exit", () => {
  for (const end of ends) end();
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const ENTRY = new URL("entry.ts", import.meta.url).pathname;

export interface ServiceOptions {
  readonly entry?: string;
  readonly vars?: Record<string, string>;
}

export interface Service {
  readonly target: Target;
  /** MiB. */
  memory(): number;
  /** Seconds of processors that workerd has taken. */
  processor(): number;
  /** Ends workerd; its data is gone afterwards. */
  stop(): Promise<void>;
}

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const dataFolder = mkdtempSync(join(tmpdir(), "edge-ipam-bench-"));
  const remove = () => rmSync(dataFolder, { recursive: true, force: true });
  try {
    const service = await launch({ dataFolder, port: 0, address: "127.0.0.1", entry: ENTRY, ...options });
    const { pid } = service;
    const end = (): void => {
      process.kill(pid, "SIGKILL");
      remove();
    };
    ends.add(end);
    const url = await service.ready.catch(async (error: unknown) => {
      ends.delete(end);
      await service.kill();
      throw error;
    });
    const target = new Target(url);
    return {
      target,
      memory: () => residentMegabytes([pid]),
      processor: () => processorSeconds([pid]),
      // All that it holds goes with it, so nothing need be closed in good order.
      stop: async () => {
        target.close();
        ends.delete(end);
        await service.kill();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Starts a service of its own for a piece of work, and ends it whatever comes. */
export async function withService(
  work: (service: Service) => Promise<void>,
  options: ServiceOptions = {},
): Promise<void> {
  const service = await startService(options);
  try {
    await work(service);
  } finally {
    await service.stop();
  }
}
