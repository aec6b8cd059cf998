/**
 * Reads the text of a selector into a tree, or says where and why it cannot.
 * May import: core only. Its depth is bounded by the length of a selector.
 */
import { LABEL_KEY_TEXT_MAX, SELECTOR_TEXT_MAX } from "./limits.ts";
import { err, ok, type Result } from "./result.ts";
import type { Comparison, Expression, Selector } from "./selector.ts";

/** Shape: `position` counts characters from 0. */
export interface SelectorFault {
  readonly position: number;
  readonly message: string;
}

const KEY = /[A-Za-z0-9_./-]+/y;
const FUNCTION = /(all|global)\([ \t]*\)/y;
const HAS = /has\(/y;
/** In this order: no operator is the beginning of a later one. */
const OPERATORS: readonly (readonly [RegExp, Comparison | "in" | "not in"])[] = [
  [/==/y, "=="],
  [/!=/y, "!="],
  [/in/y, "in"],
  [/not[ \t]*in/y, "not in"],
  [/contains/y, "contains"],
  [/starts[ \t]*with/y, "starts with"],
  [/ends[ \t]*with/y, "ends with"],
];

/** Ends the reading; caught in parseSelector, which turns it into a Result. */
class SelectorSyntaxError extends Error {
  readonly position: number;

  constructor(position: number, message: string) {
    super(message);
    this.position = position;
  }
}

/**
 * Reads a selector; blank text selects everything.
 * Rejects: anything outside the grammar, with the position of the first fault.
 */
export function parseSelector(text: string): Result<Selector, SelectorFault> {
  if (text.length > SELECTOR_TEXT_MAX) {
    const message = `a selector has at most ${SELECTOR_TEXT_MAX} characters`;
    return err({ position: SELECTOR_TEXT_MAX, message });
  }
  try {
    return ok({ text: text.replace(/^[ \t]+|[ \t]+$/g, ""), root: new Reader(text).read() });
  } catch (error) {
    if (!(error instanceof SelectorSyntaxError)) throw error;
    return err({ position: error.position, message: error.message });
  }
}

/** A cursor over the text; each method reads one rule of the grammar. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): Expression {
    this.#skipBlanks();
    if (this.#at === this.#text.length) return { kind: "all" };
    const root = this.#list("||");
    if (this.#at < this.#text.length) this.#fail(`unexpected ${this.#here()}`);
    return root;
  }

  #list(operator: "||" | "&&"): Expression {
    const next = (): Expression => (operator === "||" ? this.#list("&&") : this.#negation());
    const first = next();
    const operands = [first];
    while (this.#takes(operator)) operands.push(next());
    return operands.length === 1 ? first : { kind: operator === "||" ? "or" : "and", operands };
  }

  #negation(): Expression {
    let negated = false;
    while (this.#takes("!")) negated = !negated;
    const term = this.#term();
    if (!negated) return term;
    return term.kind === "not" ? term.operand : { kind: "not", operand: term };
  }

  #term(): Expression {
    if (this.#takes("(")) {
      const opened = this.#at - 1;
      const inner = this.#list("||");
      if (!this.#takes(")")) this.#fail(`missing ) for the ( at position ${opened}`);
      return inner;
    }
    const called = this.#match(FUNCTION);
    if (called !== undefined) {
      this.#skipBlanks();
      return { kind: called.startsWith("all") ? "all" : "global" };
    }
    if (this.#match(HAS) !== undefined) {
      const key = this.#key();
      if (!this.#takes(")")) this.#fail(`missing ) after has(${key}`);
      return { kind: "has", key };
    }
    return this.#labelTerm();
  }

  #labelTerm(): Expression {
    const key = this.#key();
    for (const [pattern, kind] of OPERATORS) {
      if (this.#match(pattern) === undefined) continue;
      this.#skipBlanks();
      if (kind === "in" || kind === "not in") return { kind, key, values: this.#set() };
      return { kind, key, value: this.#literal() };
    }
    return this.#fail(`expected an operator such as == after ${key}, found ${this.#here()}`);
  }

  #key(): string {
    this.#skipBlanks();
    const start = this.#at;
    const key = this.#match(KEY);
    if (key === undefined) return this.#fail(`expected a label, all() or has(label), found ${this.#here()}`);
    if (key.length > LABEL_KEY_TEXT_MAX) {
      this.#at = start;
      this.#fail(`a label has at most ${LABEL_KEY_TEXT_MAX} characters`);
    }
    this.#skipBlanks();
    return key;
  }

  #set(): string[] {
    if (!this.#takes("{")) this.#fail(`expected { and a set of values, found ${this.#here()}`);
    const values: string[] = [];
    while (!this.#takes("}")) {
      values.push(this.#literal());
      if (this.#takes(",")) continue;
      if (this.#takes("}")) break;
      this.#fail(`expected , or } in a set, found ${this.#here()}`);
    }
    return values;
  }

  #literal(): string {
    const quote = this.#text[this.#at];
    if (quote !== '"' && quote !== "'") this.#fail(`expected a value in quotes, found ${this.#here()}`);
    const end = this.#text.indexOf(quote ?? "", this.#at + 1);
    if (end < 0) this.#fail("the quote is not closed");
    const value = this.#text.slice(this.#at + 1, end);
    this.#at = end + 1;
    this.#skipBlanks();
    return value;
  }

  /** Takes a fixed token and the blanks after it, if it is next. */
  #takes(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    this.#skipBlanks();
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #skipBlanks(): void {
    while (this.#text[this.#at] === " " || this.#text[this.#at] === "\t") this.#at++;
  }

  #here(): string {
    const character = this.#text[this.#at];
    return character === undefined ? "the end" : JSON.stringify(character);
  }

  #fail(message: string): never {
    throw new SelectorSyntaxError(this.#at, message);
  }
}
