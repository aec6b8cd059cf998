/**
 * `npm run bench [allocate]`: allocations per second beside requests that do nothing, on this machine.
 * Times depend on the machine, so only ratios of one run are worth keeping. Loopback only, bounded.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch } from "../src/tools/launch.ts";

const clientCounts = [1, 16, 64];
const rounds = 2;
const secondsPerMeasurement = 2;
const warmUpSeconds = 1;

interface Answer {
  status: number;
  text: string;
}

interface Measurement {
  requests: number;
  perSecond: number;
  /** Milliseconds. */
  median: number;
  /** The share of one core that this program took for itself. */
  generatorShare: number;
}

type Call = (client: number, count: number) => Promise<Answer>;

class Target {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  constructor(url: string) {
    this.#url = url;
  }

  send(method: string, path: string, body?: object): Promise<Answer> {
    return new Promise((settle, fail) => {
      const headers = body === undefined ? {} : { "Content-Type": "application/json" };
      const sent = request(`${this.#url}${path}`, { method, agent: this.#agent, headers }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        answer.once("end", () => settle({ status: answer.statusCode ?? 0, text }));
      });
      sent.once("error", fail);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  async mustSend(method: string, path: string, body?: object): Promise<void> {
    const { status, text } = await this.send(method, path, body);
    if (status >= 300) {
      throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 300)}`);
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Sends with so many clients for so many seconds, each one request after the other. */
async function measure(call: Call, clients: number, seconds: number): Promise<Measurement> {
  const times: number[] = [];
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const end = start + seconds * 1000;
  const client = async (number: number): Promise<void> => {
    for (let count = 0; performance.now() < end; count += 1) {
      const sentAt = performance.now();
      const { status, text } = await call(number, count);
      if (status >= 300) {
        throw new Error(`answered ${status}: ${text.slice(0, 300)}`);
      }
      times.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  const elapsedMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpuBefore);
  times.sort((a, b) => a - b);
  return {
    requests: times.length,
    perSecond: (times.length * 1000) / elapsedMs,
    median: times[Math.floor(times.length / 2)] ?? 0,
    generatorShare: (user + system) / 1000 / elapsedMs,
  };
}

async function benchAllocate(target: Target): Promise<void> {
  await target.mustSend("PUT", "/v1/pools/bench", { cidr: "10.64.0.0/10", blockSize: 20 });
  await target.mustSend("PUT", "/v1/hosts/bench-1", {});
  let run = 0;
  const health: Call = () => target.send("GET", "/healthz");
  const allocate: Call = (client, count) =>
    target.send("POST", "/v1/allocations", {
      host: "bench-1",
      handle: `bench.${run}-${client}-${count}`,
      ipv4: { count: 1 },
    });
  console.log("one host; the no-op is GET /healthz; ratio = allocations per no-op\n");
  console.log("clients  no-op/s  allocate/s  ratio  median ms  generator CPU");
  for (const clients of clientCounts) {
    for (let round = 0; round < rounds; round += 1) {
      for (const call of [health, allocate]) {
        run += 1;
        await measure(call, clients, warmUpSeconds);
      }
      run += 1;
      const noOp = await measure(health, clients, secondsPerMeasurement);
      const allocated = await measure(allocate, clients, secondsPerMeasurement);
      const cells = [
        `${clients}`.padStart(7),
        noOp.perSecond.toFixed(0).padStart(7),
        allocated.perSecond.toFixed(0).padStart(10),
        (allocated.perSecond / noOp.perSecond).toFixed(2).padStart(5),
        allocated.median.toFixed(2).padStart(9),
        `${(allocated.generatorShare * 100).toFixed(0)} %`.padStart(13),
      ];
      console.log(cells.join("  "));
    }
  }
}

const name = process.argv[2] ?? "allocate";
if (name !== "allocate") {
  console.error(`bench: unknown measurement ${name}; there is: allocate`);
  process.exit(1);
}
const dataFolder = mkdtempSync(join(tmpdir(), "edge-ipam-bench-"));
const service = await launch({ dataFolder, port: 0, address: "127.0.0.1" });
const target = new Target(await service.ready);
try {
  await benchAllocate(target);
} finally {
  target.close();
  await service.stop();
  rmSync(dataFolder, { recursive: true, force: true });
}
