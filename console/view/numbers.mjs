/** Numbers, times and sizes as text. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/**
 * A number with thousands separators and at most `digits` significant digits behind the point. Numbers far from 1 are
 * written as a power of ten.
 * @param {number|string|null|undefined} value  @param {number} [digits]
 */
export function number(value, digits = 4) {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "string") return /^-?\d+$/.test(value) ? value.replaceAll(/\B(?=(\d{3})+$)/g, ",") : value;
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return whole.format(value + 0); // The sum turns -0 into 0.
  const size = Math.abs(value);
  if (Number.isNaN(value)) return "–";
  if (size === Infinity) return value > 0 ? "∞" : "-∞";
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) {
    const [factor, power] = value.toExponential(2).split("e");
    return `${factor} × 10${superscript(Number(power))}`;
  }
  return new Intl.NumberFormat("en", { maximumSignificantDigits: Math.max(digits, Math.floor(Math.log10(size || 1)) + 1) }).format(value);
}

/** A text of the service with its long decimals rounded, such as the parts of a bound. @param {string} text */
export function rounded(text) {
  return text.replaceAll(/-?\b\d+\.\d{6,}(e[-+]?\d+)?\b/g, (digits) => number(Number(digits)));
}

/** A power of ten, such as 10⁶. @param {number} value */
export function power(value) {
  return `10${superscript(Math.round(Math.log10(value)))}`;
}

/** @param {number} power */
function superscript(power) {
  return String(power).replaceAll("-", "⁻").replaceAll(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)] ?? "");
}

/** A share as percent. Only a share of 0 or 1 is written as one. @param {number|null|undefined} value  @param {number} [digits] */
export function percent(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  const unit = 10 ** digits;
  const rounded = Math.round(value * 100 * unit) / unit;
  if (rounded === 0 && value > 0) return `under ${percentText(1 / unit)}`;
  if (rounded === 100 && value < 1) return `over ${percentText(100 - 1 / unit)}`;
  return percentText(rounded);
}

/** A confidence as percent, rounded down. No confidence reaches 1. @param {number|null|undefined} value  @param {number} [digits] */
export function confidence(value, digits = 6) {
  if (value === null || value === undefined) return "–";
  const unit = 10 ** digits;
  const rounded = Math.floor(steady(value * 100 * unit)) / unit;
  return rounded >= 100 ? `over ${percentText(100 - 1 / unit)}` : percentText(rounded);
}

/** An interval of shares as percent, rounded outwards. @param {number} low  @param {number} high */
export function span(low, high) {
  return `${percentText(Math.floor(steady(low * 1e4)) / 100)} – ${percentText(Math.ceil(steady(high * 1e4)) / 100)}`;
}

/** A number without the last digits of a product of doubles. @param {number} value */
function steady(value) {
  return Math.round(value * 1000) / 1000;
}

/** @param {number} percentage */
function percentText(percentage) {
  return `${new Intl.NumberFormat("en", { maximumFractionDigits: 12 }).format(percentage)} %`;
}

/** @param {number|null|undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.001) return "under 1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${number(seconds, 3)} s`;
  const rounded = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(rounded / 3600), Math.floor(rounded / 60) % 60, rounded % 60];
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${rest} s`;
}

/** @param {number|null|undefined} count */
export function bytes(count) {
  if (count === null || count === undefined) return "–";
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let size = count;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${number(size, 3)} ${units[unit]}`;
}

/** A time of the service in the zone of the reader. @param {string|null|undefined} text */
export function time(text) {
  if (!text) return "–";
  const date = new Date(text);
  const isToday = date.toDateString() === new Date().toDateString();
  /** @type {Intl.DateTimeFormatOptions} */
  const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
  return isToday ? date.toLocaleTimeString("en-GB", clock)
    : date.toLocaleString("en-GB", { year: "numeric", month: "short", day: "numeric", ...clock });
}

/** The seconds between two times of the service. @param {string|null|undefined} from  @param {string|null|undefined} to */
export function secondsBetween(from, to) {
  return from && to ? (Date.parse(to) - Date.parse(from)) / 1000 : null;
}
