/**
 * The floor, and the operations of an agent: allocate, release, assign, read, on one host and on many.
 * May import: the subject's type. Rule: each on hosts of its own, so that no subject is the other's cache.
 */
import type { Plan, Step } from "../generator/plan.ts";
import { inLots } from "../target.ts";
import {
  allocate,
  ENDS,
  enrol,
  firstFill,
  LEVELS,
  pair,
  register,
  release,
  type Scene,
  type Stage,
  type Subject,
} from "./subject.ts";

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
/** Whose blocks take 4,096 addresses, so that next to none is claimed while it is measured. */
const ROOMY = { name: "roomy", cidr: "10.32.0.0/11", blockSize: 20 };
const BODY = JSON.stringify({ host: "bench-0" });

export const MAIN_SCENE: Scene = {
  async prepare({ service: { target } }) {
    await target.mustSend("PUT", "/v1/pools/bench", { cidr: "10.64.0.0/10", blockSize: 26 });
    await target.mustSend("PUT", "/v1/pools/bench-six", { cidr: "2001:db8::/64", blockSize: 122 });
    const assigned = { cidr: ASSIGNED, blockSize: 26, assignmentMode: "Manual" };
    await target.mustSend("PUT", "/v1/pools/assigned", assigned);
    // Named by its own lines only: no other host has the label.
    const { name, ...roomy } = ROOMY;
    await target.mustSend("PUT", `/v1/pools/${name}`, { ...roomy, nodeSelector: `bench == '${name}'` });
    // Strict affinity only because a cap of its own needs it; the cap must not end the run.
    await target.mustSend("PATCH", "/v1/config", { strictAffinity: true, maxBlocksPerHost: 1_000_000 });
  },
};

const post = (path: string): Plan => ({ steps: [{ method: "POST", path, body: BODY, variant: "own" }] });
const get = (path: string, known: Partial<Plan> = {}): Plan => ({
  steps: [{ method: "GET", path }],
  ...known,
});

/** A subject with many hosts of its own, in turn. */
function onHosts(
  id: string,
  name: string,
  hosts: number,
  plan: (host: string, clients: number) => Plan,
  clients: readonly number[] = LEVELS,
): Subject {
  const prepare = async (stage: Stage): Promise<void> => {
    const show = stage.progress(`enrolling ${hosts} hosts`, hosts);
    const one = (host: number) => enrol(stage, `${id}-of-${host}`, firstFill(host));
    await inLots(hosts, SUPPLY_CLIENTS, one, show);
  };
  const planOf = (count: number) => ({ ...plan(`${id}-of-{h}`, count), hosts });
  return { id, name, scene: "main", clients, plan: planOf, prepare };
}

const allocateOn = (hosts: number): Subject =>
  onHosts(`allocate-${hosts}`, `allocate, ${hosts.toLocaleString("en")} hosts`, hosts, (host, clients) =>
    allocate(`a${hosts}`, host, clients),
  );

/** Allocations for which next to no block is claimed. */
function roomyOn(hosts: number, name: string, clients: readonly number[]): Subject {
  const id = `roomy-${hosts}`;
  const labels = { bench: ROOMY.name };
  const ipv4 = { count: 1, pools: [ROOMY.name] };
  const prepare = async (stage: Stage): Promise<void> => {
    await inLots(hosts, SUPPLY_CLIENTS, async (number) => {
      const host = `${id}-of-${number}`;
      await stage.service.target.mustSend("PUT", `/v1/hosts/${host}`, { labels });
      const first = { host, handle: `first.${host}`, ipv4 };
      await stage.service.target.mustSend("POST", "/v1/allocations", first, `${host}-first`);
    });
  };
  const plan = (count: number) => ({ ...allocate(`r${hosts}`, `${id}-of-{h}`, count, { ipv4 }), hosts });
  return { id, name, scene: "main", clients, plan, prepare };
}

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
  return { steps: [{ ...step, books: "given" }] };
}

function assignPlan(clients: number): Plan {
  const body = JSON.stringify({ host: "assign", handle: `assign.${clients}.{n}` });
  const first = `10.${128 + 16 * (LEVELS as readonly number[]).indexOf(clients)}.0.0`;
  const addresses = { first, count: ASSIGNED_MAX };
  return { steps: [{ method: "PUT", path: "/v1/allocations/{ip}", body, books: "given" }], addresses };
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
  checked("no-call", "checks, no object", "no-call", 1, ENDS),
  checked("one-call", "checks, one call", "one-call", 1, ENDS),
  bare("skeleton-1", "skeleton, 1 host", "/bench/skeleton", 1, LEVELS),
  bare("skeleton-50", "skeleton, 50 hosts", "/bench/skeleton", 50, LEVELS),
  // By itself a request goes alone: the same as the line without.
  bare("gathered-skeleton-1", "…, 1 host, gathered", "/bench/gathered", 1, [64]),
  checked("checked-skeleton-1", "…, 1 host, checks", "skeleton", 1, LEVELS),
  checked("checked-skeleton-50", "…, 50 hosts, checks", "skeleton", 50, ENDS),
  onOne("allocate-1", "allocate, 1 host", (clients) => allocate("a1", "allocate-1", clients)),
  roomyOn(1, "…, no claims", LEVELS),
  allocateOn(50),
  roomyOn(50, "…, no claims", ENDS),
  allocateOn(1_000),
  onOne("pairs", "allocate and release", (clients) => pair("pairs", "pairs", clients)),
  onHosts("pairs-50", "…, 50 hosts", 50, (host, clients) => pair("pairs-50", host, clients), ENDS),
  onOne("release", "release by handle", (clients) => ({ steps: [release(`release.${clients}.{n}`)] }), {
    supply: supplyHandles,
  }),
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

/** The body of an allocation, answered by what decides nothing: no address is really given. */
function undecided(id: string, hosts: number, clients: number, changes: Partial<Step>): Plan {
  const { steps } = allocate(id, `${id}-of-{h}`, clients);
  return { steps: steps.map(({ books: _none, ...step }) => ({ ...step, ...changes })), hosts };
}

/** With all checks of an allocation. */
function checked(
  id: string,
  name: string,
  variant: string,
  hosts: number,
  clients: readonly number[],
): Subject {
  const plan = (count: number) => undecided(id, hosts, count, { variant });
  const prepare = async (stage: Stage): Promise<void> => {
    for (let host = 0; host < hosts; host += 1) await register(stage, `${id}-of-${host}`);
  };
  return { id, name, scene: "main", clients, plan, prepare };
}

/** With no check. */
function bare(id: string, name: string, path: string, hosts: number, clients: readonly number[]): Subject {
  const changes = { variant: "own", path, mustHold: '"ordinal"' };
  return { id, name, scene: "main", clients, plan: (count) => undecided(id, hosts, count, changes) };
}
