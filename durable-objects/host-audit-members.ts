/**
 * All addresses of a handle, wherever they are: by the index and the blocks, with the word of other hosts.
 * May import: core, rpc. Rule: what could not be asked for as a whole keeps its handle.
 */
import type { HandleMember } from "../src/core/leak-release.ts";
import { again, type HostContext } from "./host-context.ts";

/** A member, and the host that judges it. */
export interface ListedMember extends HandleMember {
  readonly host: string;
}

export type Members = Map<string, readonly ListedMember[] | undefined>;

/** Calls at a time. */
const LOT = 16;
/** Members of other hosts that one host is asked for; more of them keep their handles. */
const FOREIGN_MAX = 256;
const READ_ONLY = { reserved: [], cooldownMs: 0 };

export class HandleMembers {
  readonly #host: HostContext;
  readonly #name: string;
  calls = 0;

  constructor(host: HostContext, name: string) {
    this.#host = host;
    this.#name = name;
  }

  /** Lists the members of handles; `known` are blocks in which each is known to have some. */
  async list(known: ReadonlyMap<string, ReadonlySet<string>>): Promise<Members> {
    const blocksOf = new Map<string, ReadonlySet<string> | undefined>();
    await eachLot([...known.keys()], async (handle) => {
      this.calls += 1;
      const said = await again(this.#host, () =>
        this.#host.runtime.ports.handleIndex(handle).list({ handle }),
      );
      const listed = said.kind === "answered" ? said.value.rows.map(({ block }) => block) : undefined;
      const blocks = listed && new Set([...(known.get(handle) ?? []), ...listed]);
      blocksOf.set(handle, blocks);
    });
    const handlesOf = new Map<string, string[]>();
    for (const [handle, blocks] of blocksOf) {
      for (const block of blocks ?? []) handlesOf.set(block, [...(handlesOf.get(block) ?? []), handle]);
    }
    const members = new Map<string, ListedMember[]>([...known.keys()].map((handle) => [handle, []]));
    const silent = new Set([...blocksOf].filter(([, blocks]) => !blocks).map(([handle]) => handle));
    await eachLot([...handlesOf], async ([block, handles]) => {
      const found = await this.#inBlock(block, handles);
      for (const handle of found === undefined ? handles : []) silent.add(handle);
      for (const one of found ?? []) members.get(one.handle)?.push(one.member);
    });
    return new Map([...members].map(([handle, list]) => [handle, silent.has(handle) ? undefined : list]));
  }

  /** Asks the other hosts how their members stand; who does not answer says nothing. */
  async withForeign(members: Members): Promise<Members> {
    const foreign = new Map<string, ListedMember[]>();
    for (const list of members.values()) {
      for (const member of list ?? []) {
        if (member.host === this.#name) continue;
        foreign.set(member.host, [...(foreign.get(member.host) ?? []), member]);
      }
    }
    if (foreign.size === 0) return members;
    const told = new Map<string, HandleMember["standing"]>();
    await eachLot([...foreign], async ([host, list]) => {
      const asked = list
        .slice(0, FOREIGN_MAX)
        .map(({ address, block, touch }) => ({ address, block, touch }));
      this.calls += 1;
      const said = await again(this.#host, () =>
        this.#host.runtime.ports.host(host).standings({ host, members: asked }),
      );
      if (said.kind !== "answered") return;
      asked.forEach((member, at) => {
        told.set(placeOf(member), said.value.standings[at]);
      });
    });
    const judged = (member: ListedMember): ListedMember => {
      const standing = told.get(placeOf(member));
      return member.host === this.#name || standing === undefined ? member : { ...member, standing };
    };
    return new Map([...members].map(([handle, list]) => [handle, list?.map(judged)]));
  }

  async #inBlock(block: string, handles: readonly string[]) {
    const [handle] = handles;
    if (handle === undefined) return [];
    const records = handles.length === 1 ? { handle } : "all";
    this.calls += 1;
    const said = await again(this.#host, () =>
      this.#host.runtime.ports.block(block).describe({ block, policy: READ_ONLY, records, bare: true }),
    );
    if (said.kind !== "answered") return undefined;
    const wanted = new Set(handles);
    return said.value.records
      .filter((record) => record.state === "allocated" && wanted.has(record.handle))
      .map(({ handle: held, address, touch, host }) => {
        return { handle: held, member: { address, touch, block, host } };
      });
  }
}

function placeOf({ address, touch }: { readonly address: string; readonly touch: number }): string {
  return `${address} ${touch}`;
}

async function eachLot<T>(items: readonly T[], step: (item: T) => Promise<void>): Promise<void> {
  for (let begin = 0; begin < items.length; begin += LOT) {
    await Promise.all(items.slice(begin, begin + LOT).map(step));
  }
}
