"""Replays the receipt of a training in whole numbers, with the standard library alone.

    python3 replay_receipt.py receipt.json data.csv

The data are CSV without a header: the label first (the name of a class, or 1 and any other value for -1), then bits.
The learners are perceptron and averaged-perceptron with a whole eta, winnow, kernel-perceptron, kernel-winnow and
directed-drift, alone or in committees. `halfspace verify` replays every receipt.
"""

import csv
import hashlib
import json
import sys
from fractions import Fraction
from math import comb

MASK = 2**64 - 1
LEARNER, ORDER, HOLDOUT = 4, 5, 6


def mixed(z):
    """The finaliser of SplitMix64."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


class Random:
    """xoshiro256++ for one purpose of a seed."""

    def __init__(self, seed, purpose):
        golden = 0x9E3779B97F4A7C15
        seed = mixed(seed + golden * purpose & MASK)
        self.s = [mixed(seed + golden * i & MASK) for i in range(1, 5)]

    def word(self):
        rotated = lambda x, k: (x << k | x >> 64 - k) & MASK
        s = self.s
        word = rotated(s[0] + s[3] & MASK, 23) + s[0] & MASK
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotated(s[3], 45)
        return word

    def below(self, count):
        """A number below `count` by the method of Canon, for splits and orders."""
        high, low = divmod(self.word() * count, 2**64)
        if low > 2**64 - count:
            high += low + (self.word() * count >> 64) > MASK
        return high

    def unbiased(self, count):
        """A number below `count` by the method of Lemire, for flips."""
        while True:
            high, low = divmod(self.word() * count, 2**64)
            if low >= 2**64 % count:
                return high


def decimal(number):
    """The shortest decimal of a double, exactly."""
    return Fraction(repr(number))


class Perceptron:
    def __init__(self, receipt, n):
        params = receipt["params"]
        assert params["eta"] == int(params["eta"]), "this script replays a whole eta only"
        self.eta, self.reading, self.has_bias = params["eta"], params["reading"], params["bias"]
        self.w, self.bias, self.tau = [0] * n, 0, decimal(params["thickness"])

    def values(self, x):
        return x if self.reading == "unsigned" else [2 * bit - 1 for bit in x]

    def score(self, x):
        return sum(w * v for w, v in zip(self.w, self.values(x))) + self.bias

    def learn(self, x, y):
        self.w = [w + self.eta * y * v for w, v in zip(self.w, self.values(x))]
        self.bias += self.eta * y * self.has_bias

    def hypothesis(self):
        bias = self.bias if self.has_bias else None
        return {"kind": "linear", "n": len(self.w), "weights": self.w, "bias": bias, "reading": self.reading}


class AveragedPerceptron(Perceptron):
    """Answers with the mean of the weights after each example. Its numerators are the sums of these weights."""

    def __init__(self, receipt, n):
        super().__init__(receipt, n)
        self.sums, self.presented, self.mean = [0] * (n + 1), 0, None

    def shown(self, presented):
        times, self.presented = presented - self.presented, presented
        self.sums = [total + times * w for total, w in zip(self.sums, self.w + [self.bias])]

    def finish(self):
        if self.presented:
            (*self.w, self.bias), self.mean = self.sums, self.presented

    def hypothesis(self):
        document = super().hypothesis()
        if self.mean is None or self.mean == 1:
            return document
        unit = 1 / self.mean
        number = lambda count: float(count * Fraction(repr(unit)))
        bias = None if document["bias"] is None else number(document["bias"])
        return document | {"weights": [number(w) for w in document["weights"]], "bias": bias, "unit": unit}


def shown(x):
    """The bits of an example in a document. A long example of few ones is the list of their places."""
    ones = [j for j, bit in enumerate(x) if bit]
    if len(x) > 1024 and 8 * len(ones) < len(x):
        return {"ones": ones}
    return {"x": "".join(map(str, x))}


class KernelPerceptron:
    def __init__(self, receipt, n):
        kernel = receipt["params"]["kernel"]
        self.n, self.support, self.all = n, [], kernel["conjunctions"] == "all"
        self.tau = decimal(receipt["params"]["thickness"])
        self.most = kernel.get("max_literals")
        self.values = [sum(comb(c, l) for l in range(min(c, self.most or c) + 1)) for c in range(n + 1)]

    def score(self, x):
        same = lambda z: sum(a == b if self.all else a & b for a, b in zip(x, z))
        return sum(y * self.values[same(z)] for z, y in self.support)

    def learn(self, x, y):
        self.support.append((x, y))

    def hypothesis(self):
        kernel = {"conjunctions": "all" if self.all else "monotone", "max_literals": self.most}
        support = [{**shown(x), "y": y} for x, y in self.support]
        return {"kind": "kernel", "n": self.n, "kernel": kernel, "support": support}


class DirectedDrift:
    tau = 0

    def __init__(self, receipt, n):
        self.random = Random(receipt["seed"], LEARNER)
        words = [self.random.word() for _ in range((n + 63) // 64)]
        self.w = [words[j // 64] >> j % 64 & 1 for j in range(n)]

    def score(self, x):
        return sum(1 if a == b else -1 for a, b in zip(self.w, x))

    def learn(self, x, y):
        differing = [j for j, bit in enumerate(x) if (self.w[j] != bit) == (y == 1)]
        self.w[differing[self.random.unbiased(len(differing))]] ^= 1

    def hypothesis(self):
        return {"kind": "binary-weights", "n": len(self.w), "weights": "".join(map(str, self.w))}


class Winnow:
    def __init__(self, receipt, n):
        params = receipt["params"]
        self.n, self.complements = n, params["negated_literals"]
        self.e = [0] * (2 * n if self.complements else n)
        self.alpha, self.theta = params.get("alpha", 2), params.get("theta", str(len(self.e)))
        self.tau = decimal(params["thickness"]) * Fraction(self.theta)

    def features(self, x):
        return x + [1 - bit for bit in x] if self.complements else x

    def score(self, x):
        return excess(self, (e for e, bit in zip(self.e, self.features(x)) if bit))

    def learn(self, x, y):
        self.e = [e + y * bit for e, bit in zip(self.e, self.features(x))]

    def hypothesis(self):
        return {"kind": "winnow", "n": self.n, "alpha": self.alpha, "theta": self.theta, "exponents": self.e,
                "negated_literals": self.complements}


class KernelWinnow:
    """Winnow over the monotone conjunctions, which are the sets of features of at least one feature."""

    def __init__(self, receipt, n):
        params = receipt["params"]
        self.n, self.most, self.support = n, params.get("max_active", 20), {}
        self.literals = params.get("max_literals")
        self.sizes = range(1, n + 1 if self.literals is None else self.literals + 1)
        count = 1 + sum(comb(n, size) for size in self.sizes)
        self.alpha, self.theta = params.get("alpha", 2), params.get("theta", str(count))
        self.tau = decimal(params["thickness"]) * Fraction(self.theta)

    def score(self, x):
        sets = [0]
        for j in (j for j, bit in enumerate(x) if bit):
            sets += [one | 1 << j for one in sets]
        exponent = lambda one: sum(net for z, net in self.support.items() if z & one == one)
        return excess(self, (exponent(one) for one in sets if bin(one).count("1") in self.sizes))

    def learn(self, x, y):
        if any(x):
            z = sum(bit << j for j, bit in enumerate(x))
            self.support[z] = self.support.get(z, 0) + y

    def hypothesis(self):
        bits = lambda z: [z >> j & 1 for j in range(self.n)]
        kept = [(z, net) for z, net in self.support.items() if net]
        limit = {"max_literals": self.literals} if self.literals is not None else {}
        support = [{**shown(bits(z)), "y": 1 if net > 0 else -1, "count": abs(net)} for z, net in kept]
        return {"kind": "kernel-winnow", "n": self.n, "alpha": self.alpha, "theta": self.theta,
                "max_active": self.most, "support": support, **limit}


def excess(learner, exponents):
    """The sum of the powers of alpha minus the threshold. A JSON number is a double, and a string a decimal."""
    alpha = Fraction(learner.alpha)
    return sum(alpha**e for e in exponents) - Fraction(learner.theta)


LEARNERS = {
    "perceptron": Perceptron,
    "averaged-perceptron": AveragedPerceptron,
    "kernel-perceptron": KernelPerceptron,
    "directed-drift": DirectedDrift,
    "winnow": Winnow,
    "kernel-winnow": KernelWinnow,
}


def text(value):
    """JSON as the service writes it: no spaces, sorted names, and doubles from 0.00001 to 10^16 without an exponent."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{text(name)}:{text(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text, value)) + "]"
    if not isinstance(value, float) or value == 0:
        return json.dumps(value, ensure_ascii=False)
    mantissa, exponent = f"{value!r}e0".split("e")[:2]
    if exponent == "-05":
        sign, digits = "-" * (value < 0), mantissa.lstrip("-").replace(".", "")
        return f"{sign}0.0000{digits.removesuffix('0') if mantissa.endswith('.0') else digits}"
    return mantissa if exponent == "0" else f"{mantissa}e{int(exponent)}"


def digest(document):
    return hashlib.sha256(text(document).encode()).hexdigest()


def split(receipt, labels):
    """The rows that the learner is shown. Each class has its share if the receipt says so."""
    if receipt["holdout"] is None:
        return list(range(len(labels)))
    classes, is_stratified = [member["class"] for member in receipt["members"]], receipt["holdout"].get("stratified")
    # Of two classes the receipt names the one whose code is 1. Of more it names all.
    is_one = len(classes) == 1
    code = lambda label: int(label == classes[0]) if is_one else classes.index(label)
    strata = [code(label) if is_stratified else 0 for label in labels]
    to_come = [strata.count(stratum) for stratum in range(max(strata) + 1)]
    # Rust rounds halves up and Python rounds halves to even.
    up_to = lambda count: int(share := receipt["holdout"]["share"] * count) + (share % 1 >= 0.5)
    sums = [sum(to_come[:stratum]) for stratum in range(len(to_come) + 1)]
    wanted = [up_to(after) - up_to(before) for before, after in zip(sums, sums[1:])]
    if is_stratified:
        # One example of each class remains for the learner.
        wanted = [min(count, max(examples - 1, 0)) for count, examples in zip(wanted, to_come)]
    random, shown = Random(receipt["seed"], HOLDOUT), []
    for row, stratum in enumerate(strata):
        is_held_out = random.below(to_come[stratum]) < wanted[stratum]
        to_come[stratum] -= 1
        wanted[stratum] -= is_held_out
        shown += [] if is_held_out else [row]
    return shown


class Committee:
    """The rules of a run: one for two classes, or one per class."""

    def __init__(self, receipt, n):
        self.is_joint, self.has_classes = receipt.get("multiclass") == "joint", "multiclass" in receipt
        self.classes = [member["class"] for member in receipt["members"]]
        self.rules = [LEARNERS[receipt["learner"]](receipt, n) for _ in self.classes]
        self.mistakes, self.mistaken = [0] * len(self.rules), [set() for _ in self.rules]
        # The rules of open classes join with their first examples.
        self.joined = 0 if receipt.get("open") else len(self.rules)

    def predicted(self, scores):
        """The name of the first class with the largest score. With one rule, its class or any other."""
        if not self.has_classes:
            return self.classes[0] if scores[0] >= 0 else None
        return self.classes[scores.index(max(scores))]

    def is_wrong(self, x, label):
        predicted = self.predicted([rule.score(x) for rule in self.rules])
        return predicted != (label if label in self.classes else None)

    def learn(self, row, x, label):
        scores = [rule.score(x) for rule in self.rules[: self.joined]]
        predicted, is_first = self.predicted(scores) if scores else None, not scores
        label = label if label in self.classes else None
        while label in self.classes[self.joined :]:
            scores.append(self.rules[self.joined].score(x))
            self.mistaken[self.joined].add(row)
            self.joined += 1
        # Jointly, the true class must lead by the thickness. The first leader of the others loses the example if not.
        behind = [score - self.rules[0].tau * (name == label) for name, score in zip(self.classes, scores)]
        loser = self.classes[behind.index(max(behind))]
        for place, (name, score) in enumerate(zip(self.classes, scores)):
            tau, is_own = self.rules[place].tau, name == label
            own = score < tau if is_own else score >= -tau
            joint = not is_first and loser != label and name in (label, loser)
            if joint if self.is_joint else own:
                self.rules[place].learn(x, 1 if is_own else -1)
                self.mistakes[place] += predicted != label if self.is_joint else (score >= 0) != is_own
                self.mistaken[place].add(row)
        return predicted != label

    def each(self, call, *values):
        for rule in self.rules:
            getattr(rule, call, lambda *_: None)(*values)

    def hypothesis(self):
        members = [rule.hypothesis() for rule in self.rules]
        return {"kind": "committee", "n": members[0]["n"], "members": members} if self.has_classes else members[0]


def main(receipt_path, data_path):
    with open(receipt_path) as file:
        receipt = json.load(file)
    with open(data_path, newline="") as file:
        examples = [([int(bit) for bit in row[1:]], row[0]) for row in csv.reader(file)]
    assert receipt["sha256"] == digest({k: v for k, v in receipt.items() if k != "sha256"}), "the receipt was altered"
    assert receipt["learner"] in LEARNERS, f"this script does not replay {receipt['learner']}"
    assert receipt["examples"] == len(examples), "the receipt is for other data"
    learner, members = Committee(receipt, len(examples[0][0])), receipt["members"]
    shown, random = split(receipt, [label for _, label in examples]), Random(receipt["seed"], ORDER)
    kept = set().union(*(member["kept"] for member in members))
    order, mistakes = list(shown), 0
    for before in range(0, receipt["presented"], len(shown)):
        for place in range(len(order) - 1, 0, -1) if receipt["order"] == "shuffled" else []:
            other = random.below(place + 1)
            order[place], order[other] = order[other], order[place]
        for place, row in enumerate(order):
            if row in kept and before + place < receipt["presented"]:
                learner.each("shown", before + place)
                mistakes += learner.learn(row, *examples[row])
    learner.each("shown", receipt["presented"])
    learner.each("finish")
    assert mistakes == receipt["mistakes"], "the mistakes differ"
    assert learner.mistakes == [member["mistakes"] for member in members], "the mistakes of a class differ"
    assert learner.mistaken == [set(member["kept"]) for member in members], "the kept examples differ"
    assert digest(learner.hypothesis()) == receipt["hypothesis_sha256"], "the hypothesis differs"
    if receipt["training_errors"] is not None:
        errors = sum(learner.is_wrong(*examples[row]) for row in shown)
        assert errors == receipt["training_errors"], "the training errors differ"
    print(f"equal: {mistakes} mistakes on {len(kept)} of {len(shown)} examples")


if __name__ == "__main__":
    main(*sys.argv[1:])
