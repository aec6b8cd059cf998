/**
 * The floor, and the operations of an agent: allocate, release, assign, read, on one host and on many.
 * May import: the subject's type. Rule: each on hosts of its own, so that no subject is the other's cache.
 */
import type { Plan } from "../generator/plan.ts";
import { inLots } from "../target.ts";
import { allocate, enrol, firstFill, LEVELS, pair, type Scene, type Stage, type Subject } from "./subject.ts";

/** Assigned by name only, so that nobody claims there. */
const ASSIGNED = "10.128.0.0/9";
/** Of each number of clients. */
const ASSIGNED_MAX = 1 << 20;
/** Allocations that are read; they lie behind those that are assigned. */
const READ = "10.192.0.0";
const READ_MAX = 1_024;
const LIST_PAGE = 100;
const BATCH = 16;
/** Items of a batch that prepares, and requests at a time. */
const SUPPLY_BATCH = 256;
const SUPPLY_CLIENTS = 4;
const BODY = JSON.stringify({ host: "bench-0" });

export const MAIN_SCENE: Scene = {
  async prepare({ service: { target } }) {
    await target.mustSend("PUT", "/v1/pools/bench", { cidr: "10.64.0.0/10", blockSize: 26 });
    await target.mustSend("PUT", "/v1/pools/bench-six", { cidr: "2001:db8::/64", blockSize: 122 });
    const assigned = { cidr: ASSIGNED, blockSize: 26, assignmentMode: "Manual" };
    await target.mustSend("PUT", "/v1/pools/assigned", assigned);
    // Strict affinity only because a cap of its own needs it; the cap must not end the run.
    await target.mustSend("PATCH", "/v1/config", { strictAffinity: true, maxBlocksPerHost: 1_000_000 });
  },
};

const post = (path: string): Plan => ({ steps: [{ method: "POST", path, body: BODY }] });
const get = (path: string, known: Partial<Plan> = {}): Plan => ({
  steps: [{ method: "GET", path }],
  ...known,
});

const onHosts = (count: number): Subject => ({
  id: `allocate-${count}`,
  name: `allocate, ${count.toLocaleString("en")} hosts`,
  scene: "main",
  clients: LEVELS,
  plan: (clients) => ({ ...allocate(`a${count}`, `of-${count}-{h}`, clients), hosts: count }),
  async prepare(stage) {
    const show = stage.progress(`enrolling ${count} hosts`, count);
    const one = (host: number) => enrol(stage, `of-${count}-${host}`, firstFill(host));
    await inLots(count, SUPPLY_CLIENTS, one, show);
  },
});

/** A subject with a host of its own, at all numbers of clients. */
function onOne(
  id: string,
  name: string,
  plan: (clients: number) => Plan,
  more: Partial<Subject> = {},
): Subject {
  const prepare = (stage: Stage) => enrol(stage, id, 1);
  return { id, name, scene: "main", clients: LEVELS, plan, prepare, ...more };
}

/** Makes the handles that are released, with the names that the plan has. */
async function supplyHandles(
  { service }: Stage,
  clients: number,
  from: number,
  count: number,
): Promise<void> {
  await inLots(Math.ceil(count / SUPPLY_BATCH), SUPPLY_CLIENTS, async (batch) => {
    const size = Math.min(SUPPLY_BATCH, count - batch * SUPPLY_BATCH);
    const items = Array.from({ length: size }, (_, index) => {
      const handle = `release.${clients}.${from + batch * SUPPLY_BATCH + index}`;
      return { key: `${handle}.key`, handle, ipv4: { count: 1 } };
    });
    await service.target.mustBatch("release", items);
  });
}

function batchPlan(clients: number): Plan {
  const items = Array.from({ length: BATCH }, (_, item) => {
    const handle = `batch.${clients}.{n}.${item}`;
    return { key: `${handle}.key`, handle, ipv4: { count: 1 } };
  });
  const body = JSON.stringify({ host: "batch", items });
  const step = { method: "POST", path: "/v1/allocation-batches", body, mustNotHold: '"problem"' };
  return { steps: [step], isCollected: true };
}

function assignPlan(clients: number): Plan {
  const body = JSON.stringify({ host: "assign", handle: `assign.${clients}.{n}` });
  const first = `10.${128 + 16 * (LEVELS as readonly number[]).indexOf(clients)}.0.0`;
  const addresses = { first, count: ASSIGNED_MAX };
  return { steps: [{ method: "PUT", path: "/v1/allocations/{ip}", body }], addresses };
}

/** What is read: exact addresses, so that they can be named. */
async function prepareRead(stage: Stage): Promise<void> {
  const host = "read";
  await stage.service.target.mustSend("PUT", `/v1/hosts/${host}`, { labels: {} });
  await inLots(READ_MAX, 2 * SUPPLY_CLIENTS, async (number) => {
    const address = `10.192.${number >> 8}.${number & 255}`;
    const body = { host, handle: `read.${number}` };
    await stage.service.target.mustSend("PUT", `/v1/allocations/${address}`, body, `read-${number}-key`);
  });
}

const prepared = new WeakMap<Stage, Promise<void>>();

/** Prepares once for all subjects that read. */
function read(id: string, name: string, plan: Plan): Subject {
  const prepare = (stage: Stage): Promise<void> => {
    const preparing = prepared.get(stage) ?? prepareRead(stage);
    prepared.set(stage, preparing);
    return preparing;
  };
  return { id, name, scene: "main", clients: LEVELS, plan: () => plan, prepare };
}

/** Floor first: what follows is compared with these. */
export const MAIN_SUBJECTS: readonly Subject[] = [
  { id: "noop", name: "no-op", scene: "main", clients: LEVELS, plan: () => post("/bench/noop") },
  {
    id: "write",
    name: "one durable write",
    scene: "main",
    clients: LEVELS,
    plan: () => post("/bench/write/{c}"),
  },
  {
    id: "write-shared",
    name: "…, all in one object",
    scene: "main",
    clients: LEVELS,
    plan: () => post("/bench/write/shared"),
  },
  onOne("no-call", "checks, no object", (clients) => checks("no-call", clients), { clients: [1, 64] }),
  onOne("one-call", "checks, one call", (clients) => checks("one-call", clients), { clients: [1, 64] }),
  onOne("allocate-1", "allocate, 1 host", (clients) => allocate("a1", "allocate-1", clients)),
  onHosts(50),
  onHosts(1_000),
  onOne("pairs", "allocate and release", (clients) => pair("pairs", "pairs", clients)),
  onOne(
    "release",
    "release by handle",
    (clients) => ({ steps: [{ method: "DELETE", path: `/v1/handles/release.${clients}.{n}` }] }),
    { supply: supplyHandles },
  ),
  onOne("assign", "exact assignment", assignPlan),
  onOne("dual", "IPv4 and IPv6", (clients) => allocate("dual", "dual", clients, { ipv6: { count: 1 } }), {
    addresses: 2,
  }),
  onOne("batch", `batch of ${BATCH}`, batchPlan, { addresses: BATCH }),
  read("get-handle", "read a handle", get("/v1/handles/read.{m}", { known: READ_MAX })),
  read(
    "get-allocation",
    "read an allocation",
    get("/v1/allocations/{ip}", { addresses: { first: READ, count: READ_MAX } }),
  ),
  read("list", `list page of ${LIST_PAGE}`, get(`/v1/allocations?host=read&limit=${LIST_PAGE}`)),
];

function checks(route: string, clients: number): Plan {
  const { steps } = allocate(route, route, clients);
  return { steps: steps.map((step) => ({ ...step, path: `/bench/${route}/v1` })) };
}
