/** Labels of examples. If a class is named by a number, its name replaces 1 or -1, because a 1 could mean either. */

/** @typedef {import("#api").components["schemas"]} Schemas */

/** The label 1 or -1. @param {Schemas["ExampleItem"]["y"]} label  @param {Schemas["Dataset"]} dataset @returns {1|-1} */
export function signOf(label, dataset) {
  const isPositive = typeof label === "string" ? label === dataset.classes?.[1] : (label ?? 0) > 0;
  return isPositive ? 1 : -1;
}
