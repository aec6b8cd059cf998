/** What `npm run simulate` shows: a line that moves on a terminal, tables of at most 80 columns. May import: nothing. */

const WIDTH = 80;
const BAR = 24;
const REDRAW_MS = 200;
const LOG_MS = 30_000;

/** A line that tells how far a run is; where there is no terminal, one every half a minute. */
export class ProgressLine {
  readonly #beganAt = performance.now();
  #shownAt = Number.NEGATIVE_INFINITY;

  /** Shows a share of [0, 1] and what there is to say. */
  show(share: number, text: string): void {
    const { isTTY } = process.stderr;
    const now = performance.now();
    if (now - this.#shownAt < (isTTY ? REDRAW_MS : LOG_MS)) return;
    this.#shownAt = now;
    const full = Math.round(Math.min(1, share) * BAR);
    const seconds = (now - this.#beganAt) / 1000;
    const left = share > 0.01 ? `, ${clock((seconds / share) * (1 - share))} left` : "";
    const line = `[${"#".repeat(full).padEnd(BAR, ".")}] ${text}${left}`.slice(0, WIDTH - 1);
    process.stderr.write(isTTY ? `\r${line.padEnd(WIDTH - 1)}` : `${line}\n`);
  }

  /** Takes the line away. */
  end(): void {
    if (process.stderr.isTTY) process.stderr.write(`\r${" ".repeat(WIDTH - 1)}\r`);
  }
}

function clock(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** Names and numbers in columns. */
export function table(rows: readonly (readonly [string, number])[], columns = 2): string {
  const width = Math.floor(WIDTH / columns);
  const cells = rows.map(([name, n]) => {
    const number = n.toLocaleString("en");
    const dotted = `${name.slice(0, width - number.length - 4)} `.padEnd(width - number.length - 3, ".");
    return `${dotted} ${number}`;
  });
  const height = Math.ceil(cells.length / columns);
  const lines = Array.from({ length: height }, (_, row) =>
    Array.from({ length: columns }, (_, column) => (cells[column * height + row] ?? "").padEnd(width))
      .join("")
      .trimEnd(),
  );
  return lines.join("\n");
}
