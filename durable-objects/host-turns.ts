/**
 * Requests with one key in one Host wait for each other. May import: core.
 * Rule: who waited asks for itself; no request is answered with another one's answer.
 */
import type { Result } from "../src/core/result.ts";

export class KeyTurns {
  /** By handle and key. */
  readonly #underWay = new Map<string, Promise<unknown>>();

  /**
   * Requests with one key in one Host wait for each other, whatever their bodies.
   * Why: who waited asks for itself then, since what the one before was told may have been released by
   * the time this request began; it finds what the key holds, that the key is spent, or that another body
   * has it (I4, I13). Which body that is only the index knows, not who came first.
   */
  async take<T, E>(
    { handle, key }: { readonly handle: string; readonly key: string },
    run: () => Promise<Result<T, E>>,
  ): Promise<Result<T, E>> {
    const name = `${handle} ${key}`;
    // Ends: each round outlasts one request that came before this one.
    for (;;) {
      const before = this.#underWay.get(name);
      if (before === undefined) break;
      await before.catch(() => undefined);
    }
    const answer = run().finally(() => this.#underWay.delete(name));
    this.#underWay.set(name, answer);
    return await answer;
  }
}
