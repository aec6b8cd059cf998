/**
 * One page per error code, and their index, made from the table that the service answers with.
 * Plain HTML without scripts: it must be readable from a terminal browser in the middle of the night.
 */
import type { Code } from "../core/errors.ts";
import { PROBLEMS } from "../http/problem.ts";
import type { ProblemRow, Retry } from "../http/problems/row.ts";

const RETRY_WORDS: Record<Retry, string> = {
  no: "No. The same request fails again.",
  after_change: "Only after something was changed, by you or by an operator.",
  later: "Later, by itself. Where a time is known, retryAfterSeconds says when.",
  same_request: "Yes: the same request, with the same idempotency key.",
};

/** Every code with its row, by status and then by name. */
const ROWS = (Object.entries(PROBLEMS) as [Code, ProblemRow<Code>][]).toSorted(
  ([oneCode, one], [otherCode, other]) => one.status - other.status || (oneCode < otherCode ? -1 : 1),
);

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Marks what looks like a call or a header as code. */
function prose(text: string): string {
  return escaped(text).replaceAll(
    /\b((?:GET|PUT|POST|PATCH|DELETE) \/[\w/{}.-]*[\w}])/g,
    (_match, call: string) => `<code>${call}</code>`,
  );
}

function page(title: string, navigation: string, content: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/docs/page.css">
  </head>
  <body>
    <main>
      <nav>${navigation}</nav>
${content}
    </main>
  </body>
</html>
`;
}

/** The page of one code. */
function errorPage(code: Code, row: ProblemRow<Code>): string {
  const evidence =
    row.evidence.length === 0
      ? "none beyond the request id"
      : row.evidence.map((key) => `<code>${key}</code>`).join(", ");
  const content = `      <h1>${escaped(row.title)}</h1>
      <p class="faint"><code>${code}</code></p>
      <dl>
        <dt>HTTP status</dt>
        <dd>${row.status}</dd>
        <dt>CNI code</dt>
        <dd>${row.cni}</dd>
        <dt>Retry</dt>
        <dd><code>${row.retry}</code></dd>
        <dt>Evidence</dt>
        <dd>${evidence}</dd>
      </dl>
      <h2>When it is answered</h2>
      <p>${prose(row.meaning)}</p>
      <h2>What to do next</h2>
      <p>${prose(row.next)}</p>
      <h2>Does repeating help?</h2>
      <p>${RETRY_WORDS[row.retry]}</p>`;
  return page(
    `${code} - edge-ipam`,
    '<a href="/">edge-ipam</a> / <a href="/docs/errors">errors</a>',
    content,
  );
}

/** The index of all codes. */
function indexPage(): string {
  const rows = ROWS.map(
    ([code, row]) =>
      `          <tr><td>${row.status}</td><td><a href="/docs/errors/${code}">${code}</a></td>` +
      `<td>${escaped(row.title)}</td></tr>`,
  ).join("\n");
  const content = `      <h1>Error codes</h1>
      <p>
        Every refusal is an <code>application/problem+json</code> with a <code>code</code> from this list, a
        <code>hint</code> that names the next step, and <code>evidence</code> that proves it. New codes may be
        added: treat one that you do not know by its <code>status</code> and its <code>retry</code>.
      </p>
      <table>
        <thead><tr><th>Status</th><th>Code</th><th>Meaning</th></tr></thead>
        <tbody>
${rows}
        </tbody>
      </table>`;
  return page("Error codes - edge-ipam", '<a href="/">edge-ipam</a> / <a href="/docs">API</a>', content);
}

/** All pages by their path below the folder of static files. */
export function errorPages(): Map<string, string> {
  const pages = new Map([["docs/errors/index.html", indexPage()]]);
  for (const [code, row] of ROWS) pages.set(`docs/errors/${code}.html`, errorPage(code, row));
  return pages;
}
