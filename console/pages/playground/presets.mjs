/** Runs for a lecture, one click away. Each is a query of the page. */

/** Points of the plane that a line separates with a small margin. */
const PLANE = ["1.2,0.7,1", "-0.6,1.4,-1", "2.1,1.6,1", "0.4,1.9,-1", "-1.8,-0.9,-1", "1.6,-1.1,1", "0.9,-0.4,1", "-0.3,0.6,-1", "2.4,2.1,1",
  "-1.1,0.2,-1", "0.2,-1.7,1", "1.1,2.2,-1", "-0.7,-0.4,-1", "0.6,-1,1", "1.9,0.2,1", "0.1,0.9,-1", "-1.5,1.7,-1", "1.3,0.1,1", "-0.2,-1.2,1", "0.8,1.5,-1"].join("\n");

/** Points around three corners, each a class. */
const THREE = ["2.1,1.9,red", "-1.8,1.2,green", "0.3,-2.2,blue", "1.4,2.6,red", "-2.3,0.4,green", "-0.4,-1.6,blue", "2.7,0.9,red", "-1.1,1.9,green", "0.9,-1.3,blue",
  "1.2,1.1,red", "-1.4,0.6,green", "-0.9,-2.4,blue", "1.9,0.3,red", "-0.8,2.5,green", "0.4,-0.9,blue", "0.9,1.8,red", "-2.6,1.7,green", "1.3,-2.5,blue"].join("\n");

/** @typedef {{title: string, text: string, query: Record<string, string>}} Preset */

/** @type {Preset[]} */
export const PRESETS = [
  { title: "Perceptron on 20 points of the plane", text: "Each mistake turns the line. Novikoff's theorem bounds their number.",
    query: { learner: "perceptron", rows: PLANE } },
  { title: "Three classes in the plane", text: "One hypothesis per class. The largest score decides, and lines separate the regions.",
    query: { learner: "perceptron", multiclass: "joint", rows: THREE } },
  { title: "Ten digits, class by class", text: "The lit segments of a display tell the digit. A digit joins when its first example comes.",
    query: { learner: "perceptron", with: "averaged-perceptron", classes: "open", sample: "display" } },
  { title: "Majority with Directed Drift", text: "Each weight is one bit. A mistake flips one of the bits that were wrong.",
    query: { learner: "directed-drift", from: "generated", "g.n": "15", "g.target": "binary_weights", "g.sampling": "uniform-positive", "g.count": "2000",
      assume: "uniform-positive", "stop.confidence": "0.99" } },
  { title: "Disjunction with Winnow", text: "Three of 49 features matter. The mistakes grow with the logarithm of the rest.",
    query: { learner: "winnow", "p.relevant": "3", from: "generated", "g.n": "49", "g.target": "disjunction", "g.target.disjunction.variables": "[5, 20, 41]",
      "g.sampling": "uniform", "g.density": "0.2", "g.count": "1000", assume: "independent" } },
  { title: "XOR with the kernel perceptron", text: "No line separates the four points. Conjunctions of literals do.",
    query: { learner: "kernel-perceptron", rows: "00,-1\n01,1\n10,1\n11,-1" } },
  { title: "Tic-tac-toe with the kernel perceptron", text: "The learner finds the rule \"three in a row\" in 958 end boards.",
    query: { learner: "kernel-perceptron", "p.kernel.conjunctions": "monotone", sample: "tic-tac-toe" } },
  { title: "Perceptron and Winnow side by side", text: "Both see the same examples of a disjunction of 3 out of 100 features.",
    query: { learner: "perceptron", with: "winnow", "q.relevant": "3", from: "generated", "g.n": "100", "g.target": "disjunction",
      "g.target.disjunction.variables": "[7, 42, 83]", "g.sampling": "uniform", "g.density": "0.2", "g.count": "2000", assume: "independent" } },
];
