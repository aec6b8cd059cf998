/**
 * What the demonstration prints, within 80 columns.
 * May import: Node. Rule: it only shows; it asks nothing of the service.
 */

const COLUMNS = 80;
const INDENT = "   ";
const BODY = "     ";

let chapters = 0;

/** Begins a chapter. */
export function chapter(title: string): void {
  chapters += 1;
  console.log(`\n${chapters}  ${title}\n`);
}

/** Says what went wrong, where errors belong. */
export function complain(text: string): void {
  say(text, "", "", console.error);
}

/** Prints words, broken at spaces to fit, further lines deeper; what has no space stays whole. */
export function say(text: string, indent = INDENT, deeper = indent, print = console.log): void {
  for (const line of text.split("\n")) {
    let printed = "";
    for (const word of line.split(" ")) {
      if (printed !== "" && printed.length + 1 + word.length > COLUMNS) {
        print(printed);
        printed = "";
      }
      printed =
        printed === "" ? (word === line.split(" ")[0] ? indent : deeper) + word : `${printed} ${word}`;
    }
    print(printed.trimEnd());
  }
}

/** Prints a request as it goes out. */
export function request(method: string, path: string, body?: unknown, key?: string): void {
  say(`> ${method} ${path}`);
  if (key !== undefined) say(`Idempotency-Key: ${key}`, BODY);
  if (body !== undefined) say(JSON.stringify(body, null, 1).replace(/\n */g, " "), BODY);
}

/** Prints rows under heads; columns of figures stand to the right. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [heads, ...rows];
  const widths = heads.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)));
  for (const row of all) {
    const cells = row.map((cell, at) => {
      const isFigure = rows.every((one) => /^[\d.,]* ?%?$/.test(one[at] ?? ""));
      return isFigure ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
    });
    console.log(`${INDENT}${cells.join("  ")}`.trimEnd());
  }
}

/** Shows how far several counts to one total are: a bar that moves on a terminal, else a line per quarter. */
export class Progress {
  readonly #total: number;
  readonly #counts = new Map<string, number>();
  readonly #isTerminal = process.stdout.isTTY === true;

  constructor(names: readonly string[], total: number) {
    this.#total = total;
    for (const name of names) this.#counts.set(name, 0);
    if (this.#isTerminal) this.#draw();
  }

  /** One more is done. */
  advance(name: string): void {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    if (this.#isTerminal) {
      process.stdout.write(`\u001b[${this.#counts.size}A`);
      this.#draw();
    } else if (count % Math.ceil(this.#total / 4) === 0 || count === this.#total) {
      console.log(this.#line(name, count));
    }
  }

  #draw(): void {
    for (const [name, count] of this.#counts) console.log(this.#line(name, count));
  }

  #line(name: string, count: number): string {
    const full = Math.round((30 * count) / this.#total);
    const bar = "#".repeat(full) + ".".repeat(30 - full);
    return `${INDENT}${name.padEnd(12)}${bar}  ${String(count).padStart(4)} of ${this.#total}`;
  }
}
