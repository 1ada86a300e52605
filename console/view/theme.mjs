/** Light or dark: as the system wants, or as chosen in this browser. */

import { effect, signal } from "../vendor/signals.mjs";

const NAME = "halfspace.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = signal(localStorage.getItem(NAME));
const systemIsDark = signal(system.matches);
system.addEventListener("change", () => { systemIsDark.value = system.matches; });

/** The theme in force. */
export const theme = signal("light");

effect(() => {
  theme.value = chosen.value ?? (systemIsDark.value ? "dark" : "light");
  document.documentElement.dataset.theme = theme.value;
});

/** Chooses the other theme, or follows the system again if that is the theme of the system. */
export function toggleTheme() {
  const next = theme.value === "dark" ? "light" : "dark";
  const isSystem = next === (systemIsDark.value ? "dark" : "light");
  if (isSystem) localStorage.removeItem(NAME);
  else localStorage.setItem(NAME, next);
  chosen.value = isSystem ? null : next;
}
