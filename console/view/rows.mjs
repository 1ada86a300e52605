/**
 * A table of any number of rows, of which the page holds only the visible ones. Lists of the service arrive page by
 * page as you scroll.
 */

import { html } from "../vendor/htm-preact.mjs";
import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/hooks.mjs";
import { Fault } from "./problem.mjs";
import { Empty } from "./parts.mjs";
import { number } from "./numbers.mjs";

/**
 * @template T
 * @typedef {{name: string, label?: any, isNumber?: boolean, most?: number, sort?: "ascending"|"descending"|"none", cell: (row: T, index: number) => any}} Column  `most`: rem
 * that a cell takes at most in a full table.
 */

/** Height of a row in pixels. All rows have one line. */
const ROW = 40;

/** Rows on paper, which cannot scroll. */
const PAPER_ROWS_MAX = 1000;

/**
 * @param {{columns: Column<any>[], rows: any[], rowKey: (row: any, index: number) => string, caption: string, height?: number,
 *   onNearEnd?: () => void, isChosen?: (row: any) => boolean}} props
 */
export function Rows({ columns, rows, rowKey, caption, height = 34 * 16, onNearEnd, isChosen }) {
  const [top, setTop] = useState(0);
  const frame = useRef(0);
  const holder = useRef(/** @type {HTMLElement|null} */ (null));
  const isPaper = useIsPaper();
  useSteadyRows(holder, rows, rowKey);
  const scroll = (/** @type {Event} */ event) => {
    const { scrollTop } = /** @type {HTMLElement} */ (event.target);
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => setTop(scrollTop));
  };
  const count = isPaper ? PAPER_ROWS_MAX : Math.ceil(height / ROW) + 10;
  const first = isPaper ? 0 : Math.max(0, Math.min(Math.floor(top / ROW) - 5, rows.length - count));
  const shown = rows.slice(first, first + count);
  useEffect(() => {
    if (first + count >= rows.length) onNearEnd?.();
  }, [first + count >= rows.length, rows.length]);
  const after = Math.max(0, rows.length - first - shown.length);
  return html`<div class="scroll rows" tabindex="0" role="region" aria-label=${caption} data-height=${height} onScroll=${scroll}
      ref=${(/** @type {HTMLElement|null} */ element) => { holder.current = element; if (element) element.style.maxHeight = `${height}px`; }}>
    <table aria-rowcount=${rows.length + 1}>
      <caption class="hidden-label">${caption}</caption>
      <thead><tr aria-rowindex="1">${columns.map((column) => html`<th scope="col" key=${column.name} aria-sort=${column.sort} class=${column.isNumber ? "number" : ""}>
        ${column.label ?? column.name}</th>`)}</tr></thead>
      <tbody>
        ${first > 0 && html`<tr aria-hidden="true"><${Gap} columns=${columns.length} height=${first * ROW} /></tr>`}
        ${shown.map((row, index) => html`<tr key=${rowKey(row, first + index)} aria-rowindex=${first + index + 2}
            class=${isChosen?.(row) ? "chosen" : ""}>
          ${columns.map((column) => html`<td key=${column.name} class=${`one-line ${column.isNumber ? "number" : ""}`}
            style=${column.most && !isPaper ? { maxWidth: `${column.most}rem` } : undefined}>
            ${column.cell(row, first + index)}</td>`)}</tr>`)}
        ${after > 0 && html`<tr aria-hidden="true"><${Gap} columns=${columns.length} height=${after * ROW} /></tr>`}
      </tbody>
    </table>
  </div>`;
}

/** Whether the page is being printed. */
function useIsPaper() {
  const [isPaper, setIsPaper] = useState(false);
  useEffect(() => {
    const print = matchMedia("print");
    const changed = () => setIsPaper(print.matches);
    print.addEventListener("change", changed);
    changed();
    return () => print.removeEventListener("change", changed);
  }, []);
  return isPaper;
}

/**
 * Keeps the visible rows in place when rows appear above them.
 * @param {{current: HTMLElement|null}} holder  @param {any[]} rows  @param {(row: any, index: number) => string} rowKey
 */
function useSteadyRows(holder, rows, rowKey) {
  const before = useRef(rows);
  useLayoutEffect(() => {
    const old = before.current;
    before.current = rows;
    const element = holder.current;
    if (old === rows || !element || element.scrollTop < ROW) return;
    const first = Math.floor(element.scrollTop / ROW);
    const seen = old[first];
    if (!seen) return;
    const key = rowKey(seen, first);
    const now = rows.findIndex((row, index) => rowKey(row, index) === key);
    if (now >= 0 && now !== first) element.scrollTop += (now - first) * ROW;
  }, [rows]);
}

/** @param {{columns: number, height: number}} props */
function Gap({ columns, height }) {
  return html`<td class="gap" colspan=${columns} ref=${(/** @type {HTMLElement|null} */ cell) => { if (cell) cell.style.height = `${height}px`; }}></td>`;
}

/**
 * The table of a list, with its states.
 * @param {{list: ReturnType<typeof import("../service/resource.mjs").useList>, columns: Column<any>[], caption: string, empty: any, height?: number,
 *   isChosen?: (row: any) => boolean}} props
 */
export function ListTable({ list, columns, caption, empty, height, isChosen }) {
  if (list.error && list.items.length === 0) return html`<${Fault} error=${list.error} onRetry=${list.reload} />`;
  if (list.isLoading) return html`<p class="loading" role="status">Loading…</p>`;
  if (list.items.length === 0) return html`<${Empty}>${empty}<//>`;
  return html`${list.error && html`<${Fault} error=${list.error} onRetry=${list.reload} />`}
    <${Rows} columns=${columns} rows=${list.items} rowKey=${(/** @type {{id: string}} */ row) => row.id} caption=${caption}
      height=${height} onNearEnd=${list.more} isChosen=${isChosen} />
    <p class="small muted" role="status">${number(list.items.length)} shown${list.hasMore ? "; more appear as you scroll" : ""}.</p>`;
}
