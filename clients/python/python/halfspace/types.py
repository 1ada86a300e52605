"""The types of the requests and answers. `generate.py` wrote this file."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias, Union

from msgspec import Struct, field


class AdversaryAnswer(Struct, kw_only=True, omit_defaults=True):
    """The sequence of Theorem 4."""

    data: Data

    examples: int
    """Examples of the sequence. The learner errs on each example."""

    seed: int
    """Seed of the search."""


class AdversaryRequest(Struct, kw_only=True, omit_defaults=True):
    """A request for a sequence on which the monotone kernel perceptron errs every time (Theorem 4 of Khardon, Roth and
    Servedio, 2005).
    """

    n: int
    """Features per example; a multiple of 20."""

    name: str | None = None
    """Free text that names the dataset."""

    seed: SeedNumber | None = None

    size: int
    """Members of the set S. The sequence has two examples more."""

    store: bool | None = None
    """Whether to store the data as a dataset. The answer then contains the id of the dataset."""


class AmpLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="amp"):
    """AMP (approximate message passing)"""

    name: ClassVar[Literal["amp"]] = "amp"

    params: dict[str, Any] | None = None


class AnytimeRule(Struct, kw_only=True, omit_defaults=True):
    """A rule whose run length grows with the number of mistakes."""

    false_stop_probability: float
    """Probability that the rule ends a run from a random start at a wrong hypothesis."""

    false_stop_uncertainty: float
    """Largest amount by which `false_stop_probability` may be too small, because an infinite sum is cut off."""

    run_length: int
    """Run length that accepts the first hypothesis."""


class AutoLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="auto"):
    """Binary weights, by several learners in turn"""

    name: ClassVar[Literal["auto"]] = "auto"

    params: dict[str, Any] | None = None


class AveragedPerceptronLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="averaged-perceptron"):
    """Averaged perceptron"""

    name: ClassVar[Literal["averaged-perceptron"]] = "averaged-perceptron"

    params: dict[str, Any] | None = None


class Axis(Struct, kw_only=True, omit_defaults=True):
    """An axis of a chart."""

    label: str
    """The quantity on the axis."""

    scale: AxisScale
    """The scale of the axis."""

    unit: str
    """The unit of the quantity; empty if there is none."""


class AxisMark(Struct, kw_only=True, omit_defaults=True):
    """A marked place on the horizontal axis."""

    label: str
    """The meaning of the place."""

    x: float
    """Position on the horizontal axis."""


class Bar(Struct, kw_only=True, omit_defaults=True):
    """A bar from 0 to a value."""

    before: float | None = None
    """An earlier value, which gets a mark."""

    high: float | None = None
    """Upper end of the interval."""

    label: str
    """What the value belongs to."""

    low: float | None = None
    """Lower end of an interval around the value. A bar with one end alone has no interval."""

    text: str
    """The value in words, such as `0.125 (1 of 8)`."""

    value: float
    """The end of the bar."""


class BarChart(Struct, kw_only=True, omit_defaults=True):
    """Horizontal bars with their labels."""

    axis: str
    """The quantity of the values."""

    bars: list[Bar]
    """The bars from top to bottom."""

    notes: list[str] | None = None
    """Remarks below the bars."""

    title: str
    """Title of the chart."""


class BestDocument(Struct, kw_only=True, omit_defaults=True):
    """A hypothesis at the end of a pass that was not the last."""

    errors: int
    """Examples with a wrong prediction."""

    examples: int
    """Number of counted examples."""

    hypothesis: HypothesisDocument | None = None

    pass_: int = field(name="pass")
    """The pass at whose end the errors were counted, from 1."""


class BinaryWeightsHypothesis(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="binary-weights"):
    """Prediction +1 iff the inner product of weights and example, both in {-1, +1}, is >= 0."""

    kind: ClassVar[Literal["binary-weights"]] = "binary-weights"

    n: int
    """Number of features."""

    weights: str
    """One character per weight: 1 for +1 and 0 for -1."""


class BinaryWeightsTarget(Struct, kw_only=True, omit_defaults=True):
    """The sign of a sum of the features with weights 1 or -1"""

    weights: str | None = None
    """n characters; 1 means +1"""


class BoundDocument(Struct, kw_only=True, omit_defaults=True):
    """The bound of a theorem on the mistakes."""

    detail: str | None = None
    """The reason why there is no verdict or no number."""

    log2_mistakes_at_most: float | None = None
    """The binary logarithm of a bound beyond the range of a JSON number."""

    mistakes_at_most: float | None = None
    """The bound; null for the reason in `detail`."""

    respected: bool | None = None
    """Whether the mistakes of the run respect the bound. Null if an assumption is not met or there is no number."""

    theorem: str
    """The author of the theorem."""


class BoundedHypothesis(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="bounded"):
    """Prediction +1 iff the sum of (weight - inhibition) times feature, divided by n, is at least the threshold. Bits
    are read as 0 and 1.
    """

    inhibition: float
    """The number that is subtracted from every weight."""

    kind: ClassVar[Literal["bounded"]] = "bounded"

    n: int
    """Number of features."""

    threshold: float
    """The smallest score of a positive prediction."""

    weights: list[float]
    """One number per feature, from 0 to 1."""


class BoundedPerceptronLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="bounded-perceptron"):
    """Bounded perceptron"""

    name: ClassVar[Literal["bounded-perceptron"]] = "bounded-perceptron"

    params: dict[str, Any] | None = None


class ByStart(Struct, kw_only=True, omit_defaults=True):
    """A figure for different starts of a run."""

    by_distance: list[float]
    """Starts at Hamming distance 0, 1, .., n from the target."""

    random_start: float
    """Start at a hypothesis that is drawn uniformly."""


class Callback(Struct, kw_only=True, omit_defaults=True):
    """The callback of a job."""

    error: str | None = None
    """The reason why the last delivery failed. Null if none failed and after a successful delivery."""

    failures: int
    """Number of failed deliveries."""

    state: CallbackState

    url: str
    """The URL that is notified when the job ends."""


class CertificateCoverageExperiment(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="certificate-coverage"):
    """The share of runs whose certificate is violated."""

    name: ClassVar[Literal["certificate-coverage"]] = "certificate-coverage"

    params: CertificateCoverageSpec
    """The share of runs whose certificate is violated."""


class CertificateCoverageExperimentRequest(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="certificate-coverage"):
    """The share of runs whose certificate is violated."""

    name: ClassVar[Literal["certificate-coverage"]] = "certificate-coverage"

    params: CertificateCoverageSpec | None = None
    """The share of runs whose certificate is violated."""

    seed: int | None = None


class CertificateCoverageSpec(Struct, kw_only=True, omit_defaults=True):
    """The share of runs whose certificate is violated, against the allowed error."""

    certificates: list[CoveredClaim] | None = None
    """The certificates. A certificate has no series where it is not defined."""

    deltas: list[float] | None = None
    """The allowed errors."""

    distributions: list[CoverageDistribution] | None = None
    """The distributions of the examples."""

    error: float | None = None
    """The error that the rule `pac` accepts."""

    examples: int | None = None
    """Examples per run, and per test set. `unique` takes the examples that the theory asks for."""

    learners: list[str] | None = None
    """Learners of labelled examples."""

    n: int | None = None
    """Number of features. The true errors are sums over all 2^n examples."""

    noise: list[float] | None = None
    """The probabilities of a flipped label, from 0 to 0.5."""

    runs: int | None = None
    """Number of runs per point."""


class Certificates(Struct, kw_only=True, omit_defaults=True):
    """The certificates of an answer."""

    certificates: list[Certificate] | None = None
    """Proved statements about this answer. Each holds by itself with its confidence, and not all of them jointly."""

    certificates_withheld: list[WithheldCertificate] | None = None
    """The certificates that this answer lacks, with the reasons."""


class Chart(Struct, kw_only=True, omit_defaults=True):
    """A chart with measured series, theory curves and marks.

    Further members are ignored, so the result of an experiment is a chart as it is.
    """

    marks: list[AxisMark]
    """Marked places on the horizontal axis."""

    notes: list[str]
    """Remarks on the chart: the kind of the intervals, and the points that are only bounds."""

    series: list[MeasuredSeries]
    """The measured series. Points with an exact analysis stand among them."""

    theory: list[TheoryCurve]
    """The curves predicted by theory."""

    title: str
    """Title of the chart."""

    x: Axis
    """The horizontal axis."""

    y: Axis
    """The vertical axis."""


class ClassDocument(Struct, kw_only=True, omit_defaults=True):
    """How well a class is predicted."""

    correct: int
    """Examples of the class predicted as this class."""

    examples: int
    """Examples of the class."""

    f1: float | None = None
    """The harmonic mean of precision and recall, which is 2 correct / (examples + predicted); null if both are 0."""

    name: str
    """The name of the class: `-1` or `1` if the labels have no names."""

    precision: float | None = None
    """The share of correct ones among those predicted as this class; null if there are none."""

    predicted: int
    """Examples predicted as this class."""

    recall: float | None = None
    """The share of correct ones among the examples of the class; null if there are none."""


class ClippedPerceptronLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="clipped-perceptron"):
    """Clipped perceptron with reinforcement (CP+R)"""

    name: ClassVar[Literal["clipped-perceptron"]] = "clipped-perceptron"

    params: dict[str, Any] | None = None


class CnfAnswer(Struct, kw_only=True, omit_defaults=True):
    """The formula of Lemma 8."""

    clauses: list[list[int]]
    """Clauses of the formula. Each clause is a list of variables, numbered from 1."""


class CnfRequest(Struct, kw_only=True, omit_defaults=True):
    """A request for a monotone CNF with a given number of satisfying assignments (Lemma 8 of Khardon, Roth and
    Servedio, 2005).
    """

    satisfying: NumberOrDecimal
    """The number of satisfying assignments: a JSON number, or a decimal string beyond 2^53."""

    variables: int
    """Variables of the formula."""


class ColumnEncoding(Struct, kw_only=True, omit_defaults=True):
    """A column with features."""

    cells: NamedCells | None = None
    """What the cells of a column of names are. A `nominal` cell gives the name `column=word`, a `number` is the value
    of the name of the column, a true `boolean` gives that name, and a `text` gives the names that the extraction
    finds in it.
    """

    kind: ColumnKindName
    """The kind of the column."""

    thresholds: list[float] | None = None
    """The thresholds of a thermometer column in ascending order. A bit tells whether the number is at least the
    threshold.
    """

    values: list[str] | None = None
    """The values of a nominal column in the order of the features, or of the bits 0 and 1 of a boolean column."""

    features: list[int]
    """The first feature of the column and the feature after the last, from 0. Both are 0 for a column that gives
    names.
    """

    fill: str | None = None
    """The text for which a missing cell stands, if it stands for one."""

    index: int
    """The number of the column in the file, from 1."""

    missing: bool | None = None
    """Whether the last feature of the column stands for a missing cell."""

    name: str
    """The name of the column."""

    part: DatePart | None = None
    """The number that the dates of the column give here. A column of dates stands once for each of their parts."""

    scale: Scale | None = None
    """How the numbers of the column become its feature, unless they are the feature."""

    written: Written | None = None
    """How the table writes the numbers of the column, if this must be known to read them."""


class ColumnKind(Struct, kw_only=True, omit_defaults=True):
    """The shape of a [`ColumnKind`]. Clients of an object with two optional lists are simpler than those of a union."""

    cells: NamedCells | None = None
    """What the cells of a column of names are. A `nominal` cell gives the name `column=word`, a `number` is the value
    of the name of the column, a true `boolean` gives that name, and a `text` gives the names that the extraction
    finds in it.
    """

    kind: ColumnKindName
    """The kind of the column."""

    thresholds: list[float] | None = None
    """The thresholds of a thermometer column in ascending order. A bit tells whether the number is at least the
    threshold.
    """

    values: list[str] | None = None
    """The values of a nominal column in the order of the features, or of the bits 0 and 1 of a boolean column."""


class CommitteeHypothesis(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="committee"):
    """One hypothesis per class of more than two, in the order of the classes. The prediction is the class with the
    largest score, or the first among equals.
    """

    kind: ClassVar[Literal["committee"]] = "committee"

    members: list[HypothesisDocument]
    """The hypothesis of each class, all of one kind."""

    n: int
    """Number of features."""


class CommitteeMember(Struct, kw_only=True, omit_defaults=True):
    """A member of a committee: the hypothesis that tells one class from all others."""

    bound: BoundDocument | None = None

    class_: str = field(name="class")
    """The name of its class."""

    mistakes: int
    """Examples on which it decided wrongly whether they are of its class."""

    updates: int
    """Mistakes that changed it."""


class CompareRequest(Struct, kw_only=True, omit_defaults=True):
    """Trains several learners on the same splits of the data, and the best of them on all of the data."""

    class_weight: StatedClassWeights | None = None

    data: Data

    folds: int | None = None
    """Number of parts of a random division of the examples. Each part judges the trainings on the others. 5 when both
    `folds` and `holdout` are absent.
    """

    holdout: float | None = None
    """Share of the examples that judges all trainings, between 0 and 1. Give either this field or `folds`."""

    learners: list[LearnerSpec] | None = None
    """The learners. When absent, the service compares all learners that can learn from the data."""

    multiclass: Multiclass | None = None

    seed: SeedNumber | None = None

    stop: StopSpec | None = None
    """Stopping conditions of every training. Missing conditions take the defaults of each learner."""

    stratify: bool | None = None
    """Whether each class has its share of every part, up to one example. The parts are then no independent draws, so
    no interval is certified.
    """


class CompareResult(Struct, kw_only=True, omit_defaults=True, tag_field="task", tag="compare"):
    """The result of a comparison."""

    best: int | None = None
    """Index of the best learner, from 0. The best learner has the smallest share of errors on the examples that judge
    the learners. Fewer mistakes decide between equal shares, then the smaller index. Null if a training was
    cancelled.
    """

    intervals: ErrorIntervals | None = None

    learners: list[ComparedLearner]
    """All learners in the order of the request."""

    model: ModelId | None = None

    task: ClassVar[Literal["compare"]] = "compare"

    training: TrainResult | None = None


class ComparedLearner(Struct, kw_only=True, omit_defaults=True):
    """A learner of a comparison and the results of its trainings."""

    certificates: list[Certificate] | None = None
    """Proved statements about this answer. Each holds by itself with its confidence, and not all of them jointly."""

    certificates_withheld: list[WithheldCertificate] | None = None
    """The certificates that this answer lacks, with the reasons."""

    bound: BoundDocument | None = None

    error_rate: float | None = None
    """Share of errors on the held-out examples."""

    errors: int | None = None
    """Errors on all held-out examples."""

    examples: int | None = None
    """Number of held-out examples."""

    folds: list[ErrorCount]
    """The errors on the held-out examples of each training."""

    interval: ErrorInterval | None = None

    jobs: list[JobId]
    """The jobs of the trainings, one per fold."""

    mistakes: int | None = None
    """Mistakes of all trainings."""

    name: str
    """Name of the learner."""

    params: dict[str, Any]
    """Parameters of the learner as requested."""

    seconds: float | None = None
    """Seconds of computing of all trainings."""

    unfit: str | None = None
    """The reason why the learner cannot learn from the data. Null if the learner was trained."""

    updates: int | None = None
    """Updates of all trainings."""


class CompressionBound(Struct, kw_only=True, omit_defaults=True):
    """A bound on the error of a hypothesis that a few examples reproduce."""

    confidence: float

    error_at_most: float
    """Upper limit of the error."""


class CompressionCertificate(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="compression"):
    """A hypothesis that a few of the examples reproduce."""

    assumes: list[Assume]
    """The declared or known facts about the examples that the statement needs."""

    confidence: float
    """Of all runs started like this, at most a share of 1 - confidence makes a wrong statement."""

    error_at_most: float
    """The upper limit of the error."""

    errors: int
    """Errors on the other examples."""

    examples: int
    """The number of all examples."""

    kept: int
    """The number of examples that reproduce the hypothesis."""

    kind: ClassVar[Literal["compression"]] = "compression"

    source: str
    """The source of the proof."""

    statement: str
    """The statement as a sentence."""


class CountedExample(Struct, kw_only=True, omit_defaults=True):
    """An example that changed the hypothesis."""

    count: int | None = None
    """The difference between promotions and demotions; 1 when absent."""

    ones: list[int] | None = None
    """The numbers of the features that are 1, from 0 and ascending, if they are few."""

    x: str | None = None
    """The bits of the example, one character per feature. Absent if `ones` lists them."""

    y: int
    """1 if the example was promoted more often than demoted, otherwise -1."""


class CountingAnswer(Struct, kw_only=True, omit_defaults=True):
    """The sequence of Theorem 7."""

    active: int
    """The largest number of active bits in an example. The parameter `max_active` must allow this number."""

    alpha: int
    """The update factor."""

    data: Data

    examples: int
    """Examples of the sequence. The learner errs on each example."""

    parameters: CountingNumbers

    query: str
    """The example whose prediction answers the question. The prediction is 1 if and only if the formula has at least
    `at_least` satisfying assignments.
    """

    theta: str
    """The threshold as a decimal string: the default of `kernel-winnow` for these data."""


class CountingNumbers(Struct, kw_only=True, omit_defaults=True):
    """The numbers of the construction, with the names of the paper."""

    m: int

    p: str
    """A decimal string."""

    q: int

    u: int

    v: int

    w: int


class CountingRequest(Struct, kw_only=True, omit_defaults=True):
    """A request for a sequence that makes kernel Winnow count the satisfying assignments of a formula (Theorem 7 of
    Khardon, Roth and Servedio, 2005).
    """

    alpha: int | None = None
    """The update factor of the Winnow that answers the question; 2 when absent."""

    at_least: int
    """The number K in the question: has the formula at least K satisfying assignments?"""

    clauses: list[list[int]]
    """Clauses of the formula. Each clause has two variables, numbered from 1, which may be equal."""

    name: str | None = None
    """Free text that names the dataset."""

    store: bool | None = None
    """Whether to store the data as a dataset. The answer then contains the id of the dataset."""

    variables: int
    """Variables of the formula."""


class CurvePlace(Struct, kw_only=True, omit_defaults=True):
    """A point of a theory curve."""

    x: float
    """Position on the horizontal axis."""

    y: float
    """Position on the vertical axis."""


class Data(Struct, kw_only=True, omit_defaults=True):
    """Data. Exactly one of the properties is present"""

    dataset: Any = None
    """A stored dataset: its id, or an object with `id`, and with `assume` or with the class `positive` to tell from
    all others
    """

    generated: GeneratedData | None = None

    half_space: HalfSpaceData | None = None

    labelled: LabelledData | None = None

    packed: PackedData | None = None

    rows: list[Row] | None = None

    table: TableData | None = None

    unlabelled: UnlabelledData | None = None


class DataFacts(Struct, kw_only=True, omit_defaults=True):
    """Facts about examples, stored or not."""

    assume: Assume | None = None

    class_examples: list[int] | None = None
    """Number of examples of each class, in the order of `classes`; of the labels -1 and 1 if these have no names. Null
    for unlabelled data.
    """

    contradictions: int | None = None
    """Distinct rows that appear with more than one label. Null without labels, or if contradictions were not counted."""

    duplicates: int | None = None
    """Examples that equal an earlier example, label included. Null if duplicates were not counted."""

    duplicates_detail: str | None = None
    """Reason why duplicates and contradictions were not counted."""

    examples: int
    """Number of examples."""

    kind: LabelsKind
    """Kind of the examples: `half-space` (every example is positive), `labelled` or `unlabelled`."""

    n: int
    """Features per example."""

    sha256: str
    """SHA-256 digest of the canonical rows. Equal data have the same digest in every format."""

    values: RowsKind
    """Kind of the features: `boolean` or `real`."""

    zero_bit_value: int | None = None
    """Value that was sent for a 0 bit: 0 or -1. Null for real data."""


class DataShape(Struct, kw_only=True, omit_defaults=True):
    """The size of data."""

    classes: int | None = None
    """Number of classes of the labels. Null without labels."""

    examples: int
    """Number of examples."""

    n: int
    """Number of features of an example."""


class Dataset(Struct, kw_only=True, omit_defaults=True):
    """A dataset."""

    assume: Assume | None = None

    class_examples: list[int] | None = None
    """Number of examples of each class, in the order of `classes`; of the labels -1 and 1 if these have no names. Null
    for unlabelled data.
    """

    contradictions: int | None = None
    """Distinct rows that appear with more than one label. Null without labels, or if contradictions were not counted."""

    duplicates: int | None = None
    """Examples that equal an earlier example, label included. Null if duplicates were not counted."""

    duplicates_detail: str | None = None
    """Reason why duplicates and contradictions were not counted."""

    examples: int
    """Number of examples."""

    kind: LabelsKind
    """Kind of the examples: `half-space` (every example is positive), `labelled` or `unlabelled`."""

    n: int
    """Features per example."""

    sha256: str
    """SHA-256 digest of the canonical rows. Equal data have the same digest in every format."""

    values: RowsKind
    """Kind of the features: `boolean` or `real`."""

    zero_bit_value: int | None = None
    """Value that was sent for a 0 bit: 0 or -1. Null for real data."""

    bytes: int
    """Bytes in the store: those of the examples, and of the raw cells."""

    cells_bytes: int
    """Of them, the compressed bytes of the raw cells of the table, by which it can be [encoded
    again](#tag/datasets/POST/v1/datasets/{id}/encode). It is 0 for data that are no table, and for tables whose
    numbers are the features as they are.
    """

    created_at: Timestamp

    id: DatasetId

    name: str | None = None

    seed: int | None = None
    """Seed from which generated examples were drawn."""

    classes: list[str] | None = None
    """Names of the classes, if the labels came with names. Of two classes, the first has the label -1 and the second
    the label 1.
    """

    encoding_sha256: str | None = None
    """SHA-256 digest of the columns of the encoding. Tables with the same digest are encoded alike."""

    features: list[str] | None = None
    """Names of a fixed number of features, if the data came with names; null for an open vocabulary. A value of a
    nominal attribute is named `attribute=value`.
    """

    first_index: int | None = None
    """First index of the data, 0 or 1, if they came as LIBSVM."""

    table: TableEncoding | None = None

    vocabulary: VocabularyKind
    """Whether the features are fixed. With `open` an example is a set of names, `n` is the number of different names,
    at least 1, and the examples list them.
    """


class DatasetItem(Struct, kw_only=True, omit_defaults=True):
    """A dataset in a list."""

    assume: Assume | None = None

    class_examples: list[int] | None = None
    """Number of examples of each class, in the order of `classes`; of the labels -1 and 1 if these have no names. Null
    for unlabelled data.
    """

    contradictions: int | None = None
    """Distinct rows that appear with more than one label. Null without labels, or if contradictions were not counted."""

    duplicates: int | None = None
    """Examples that equal an earlier example, label included. Null if duplicates were not counted."""

    duplicates_detail: str | None = None
    """Reason why duplicates and contradictions were not counted."""

    examples: int
    """Number of examples."""

    kind: LabelsKind
    """Kind of the examples: `half-space` (every example is positive), `labelled` or `unlabelled`."""

    n: int
    """Features per example."""

    sha256: str
    """SHA-256 digest of the canonical rows. Equal data have the same digest in every format."""

    values: RowsKind
    """Kind of the features: `boolean` or `real`."""

    zero_bit_value: int | None = None
    """Value that was sent for a 0 bit: 0 or -1. Null for real data."""

    bytes: int
    """Bytes in the store: those of the examples, and of the raw cells."""

    cells_bytes: int
    """Of them, the compressed bytes of the raw cells of the table, by which it can be [encoded
    again](#tag/datasets/POST/v1/datasets/{id}/encode). It is 0 for data that are no table, and for tables whose
    numbers are the features as they are.
    """

    created_at: Timestamp

    id: DatasetId

    name: str | None = None

    seed: int | None = None
    """Seed from which generated examples were drawn."""


class DatasetList(Struct, kw_only=True, omit_defaults=True):
    """A page of datasets, newest first, without the names of their features."""

    items: list[DatasetItem]

    next_cursor: str | None = None
    """Cursor of the next page; null on the last page."""


class DatasetRequest(Struct, kw_only=True, omit_defaults=True):
    """Data to store as a dataset."""

    data: Data

    name: str | None = None
    """Free text that names the dataset."""

    seed: SeedNumber | None = None


class DatasetSource(Struct, kw_only=True, omit_defaults=True):
    """An object of a bucket to store as a dataset."""

    callback: str | None = None
    """URL to notify when the job ends. Needs a configured callback secret."""

    format: str | None = None
    """Format of the object: a file extension such as `csv`, or a media type. By default the Content-Type of the object
    decides, and if that says nothing about data, the extension of the key, before a `.gz` or `.zst`.
    """

    max_seconds: float | None = None
    """Seconds of computing; 600 when absent."""

    name: str | None = None
    """Free text that names the job and the dataset."""

    priority: Priority | None = None

    source: str
    """Address of the object: `s3://bucket/key`, within a prefix that the operator allows with `--sources`. The key is
    taken as it is written, without percent-encoding.
    """


class Decided(Struct, kw_only=True, omit_defaults=True):
    """The decision on one example."""

    predicted_class: str | None = None
    """The name of the predicted class. Null if the labels of the training had no names."""

    prediction: int
    """1 or -1 of two classes; of more, the place of the predicted class among the classes of the model, from 0."""

    score: NumberOrDecimal | None = None

    unseen: int
    """How many active features of the example the model has never seen. They are none of the terms."""


class DefaultStop(Struct, kw_only=True, omit_defaults=True):
    """The conditions that end a training whose request states none."""

    confidence: float | None = None
    """Confidence of the rule `anytime` that ends a run on fresh examples. Null if no confidence ends it."""

    endless_confidence: float | None = None
    """The same for an endless stream of fresh examples, such as those of a session."""

    max_mistakes: int | None = None
    """Largest number of mistakes. Null without such a limit."""

    max_passes: int | None = None
    """Largest number of passes over the data. Null without such a limit."""

    max_seconds: float
    """Time limit in seconds of computing."""

    statement: str
    """The conditions as a sentence."""


class Dichotomies(Struct, kw_only=True, omit_defaults=True):
    """Cover's count of linearly separable dichotomies."""

    dichotomies: str
    """C(P, N), exactly, as a decimal string."""

    fraction: float
    """C(P, N) / 2^P, rounded to a double; 0 below the range of doubles."""

    log2: float
    """Binary logarithm of the count."""

    log2_fraction: float
    """Binary logarithm of the fraction."""


class DirectedDriftAnalysis(Struct, kw_only=True, omit_defaults=True):
    """The exact analysis of Directed Drift (algorithm D) on fresh uniform-positive examples."""

    anytime: AnytimeRule
    """Rule `anytime`."""

    exact: FixedRule
    """Rule `exact`: the smallest fixed run length that keeps `delta` from every start."""

    expected_examples: ByStart
    """Expected examples up to and including the last of those mistakes."""

    expected_mistakes: ByStart
    """Expected mistakes until the hypothesis is the target."""

    min_error: MinError
    """Smallest error of a wrong hypothesis."""

    per_hypothesis: FixedRule
    """Stopping rule of the paper, whose run length bounds the error of a single hypothesis."""

    theorem_1: TheoremOne
    """Bounds of Fang and Venkatesh on the expected mistakes."""


class DirectedDriftAsyncLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="directed-drift-async"):
    """Directed Drift, batch, asynchronous (D')"""

    name: ClassVar[Literal["directed-drift-async"]] = "directed-drift-async"

    params: dict[str, Any] | None = None


class DirectedDriftLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="directed-drift"):
    """Directed Drift (D)"""

    name: ClassVar[Literal["directed-drift"]] = "directed-drift"

    params: dict[str, Any] | None = None


class DirectedDriftSyncLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="directed-drift-sync"):
    """Directed Drift, batch, synchronous (D'')"""

    name: ClassVar[Literal["directed-drift-sync"]] = "directed-drift-sync"

    params: dict[str, Any] | None = None


class DisjunctionTarget(Struct, kw_only=True, omit_defaults=True):
    """At least one of the literals is true. A negated literal has a minus sign"""

    size: int | None = None

    variables: list[int] | None = None


class DnfTarget(Struct, kw_only=True, omit_defaults=True):
    """All literals of at least one term are true"""

    size: int | None = None

    terms: list[list[int]] | None = None

    terms_count: int | None = None


class Drawing(Struct, kw_only=True, omit_defaults=True):
    """A figure to draw: exactly one of a chart, bars and heat maps."""

    bars: BarChart | None = None

    chart: Chart | None = None

    heat_maps: HeatMaps | None = None


class ErrorCount(Struct, kw_only=True, omit_defaults=True):
    """Errors among examples."""

    errors: int
    """Examples with a wrong prediction."""

    examples: int
    """Number of counted examples."""


class ErrorInterval(Struct, kw_only=True, omit_defaults=True):
    """The interval of the error of one candidate."""

    high: float
    """Upper end."""

    low: float
    """Lower end."""


class ErrorIntervals(Struct, kw_only=True, omit_defaults=True):
    """The intervals of all candidates: what they say, and when it holds."""

    candidates: int
    """Number of candidates that share the allowed error."""

    certified: bool
    """Whether the service knows that the held-out examples are fresh, or has a declaration of it that the examples do
    not refute. If not, the statement names the reason.
    """

    confidence: float | None = None
    """Confidence with which the errors of all candidates lie in their intervals at once. Null with folds, whose range
    is no confidence interval.
    """

    statement: str
    """What the intervals say and under which conditions, as sentences."""


class EvaluateRequest(Struct, kw_only=True, omit_defaults=True):
    """Evaluates a model on examples with known labels."""

    confidence: float | None = None
    """The confidence of the certificate; 0.95 when absent."""

    data: Data

    fresh: bool | None = None
    """Whether neither the model nor its ancestors learnt from the examples. Beside `assume`, this declaration gives
    the result a certificate.
    """

    max_seconds: float | None = None
    """Seconds of computing; 600 when absent."""

    model: ModelId
    """The model."""

    seed: SeedNumber | None = None


class EvaluateResult(Struct, kw_only=True, omit_defaults=True, tag_field="task", tag="evaluate"):
    """The errors of a model on examples with known labels."""

    certificates: list[Certificate] | None = None
    """Proved statements about this answer. Each holds by itself with its confidence, and not all of them jointly."""

    certificates_withheld: list[WithheldCertificate] | None = None
    """The certificates that this answer lacks, with the reasons."""

    accuracy: float | None = None
    """The share of correct predictions; null if no example was counted."""

    baseline: float | None = None
    """The share of the most frequent class. Predicting it for every example has this accuracy."""

    classes: list[ClassDocument]
    """What is known about each class, in the order of the class codes. Of two classes, the first has the label -1 and
    the second the label 1.
    """

    complete: bool
    """Whether all examples were counted. False if a time limit or a cancellation ended the evaluation."""

    confusion: list[list[int]] | None = None
    """The number of examples by class and predicted class: row `i` has the examples of class `i` of `classes`, and
    column `j` those of them that were predicted as class `j`. Null for more than 256 classes.
    """

    errors: int
    """Examples with a wrong prediction."""

    examples: int
    """Number of counted examples."""

    macro_f1: float | None = None
    """The mean of `f1` over the classes that occur or were predicted."""

    model: ModelId
    """The model."""

    table: TableEncoding | None = None
    """The encoding of the table in the body of the request, if there is one."""

    task: ClassVar[Literal["evaluate"]] = "evaluate"

    wrong: list[WrongDocument]
    """The first 100 examples with a wrong prediction, in order, without their features."""


class ExampleAnswer(Struct, kw_only=True, omit_defaults=True):
    """The result of one example."""

    mistake: bool
    """Whether the prediction was wrong."""

    position: int
    """Position of the session after the example: the number of examples learnt."""

    predicted_class: str | None = None
    """Name of the predicted class. Absent without a prediction, or if the classes of the session have no names."""

    prediction: int | None = None
    """Prediction before the example was learnt: 1 or -1 of two classes; of more and of open classes, the place of the
    class among those of the session, from 0. Null if a batch consumed the example without a test, or if no class
    was known.
    """

    run_length: int
    """Consistent examples since the last mistake."""

    terminated: bool
    """Whether the session ended with this example."""

    unseen: int | None = None
    """Number of its names that the session had not learnt before. Absent without an open vocabulary."""


class ExampleAnswers(Struct, kw_only=True, omit_defaults=True):
    """The results of the examples, in the order of the examples."""

    answers: list[ExampleAnswer]


class ExampleExplanation(Struct, kw_only=True, omit_defaults=True):
    """A decision and what it rests on."""

    predicted_class: str | None = None
    """The name of the predicted class. Null if the labels of the training had no names."""

    prediction: int
    """1 or -1 of two classes; of more, the place of the predicted class among the classes of the model, from 0."""

    score: NumberOrDecimal | None = None

    unseen: int
    """How many active features of the example the model has never seen. They are none of the terms."""

    bias: TermWeight | None = None

    detail: str | None = None
    """Why conjunctions of more literals or the share are missing."""

    max_literals: int | None = None
    """The most literals of the compared conjunctions; null if the terms are features."""

    rule: str
    """The decision rule in words."""

    share: ExplanationShare | None = None

    terms: list[ExplanationTerm]
    """The heaviest terms."""


class ExampleItem(Struct, kw_only=True, omit_defaults=True):
    """An example."""

    x: Any
    """A bit string if a 0 bit was sent as 0, otherwise a list of numbers. Of an open vocabulary, a list of the names
    of the active features, or an object of them with their values unless all are 1.
    """

    y: ExampleLabel | None = None
    """The label. Absent if the examples have no labels."""


class ExamplePage(Struct, kw_only=True, omit_defaults=True):
    """A page of the examples of a dataset, in stored order."""

    items: list[ExampleItem]

    next_offset: int | None = None
    """The `offset` of the next page; null on the last page."""


class ExperimentPartResult(Struct, kw_only=True, omit_defaults=True, tag_field="task", tag="experiment_part"):
    """The result of a part."""

    tally: dict[str, Any]
    """The results of the runs by point, as integers that are added to those of other parts."""

    task: ClassVar[Literal["experiment_part"]] = "experiment_part"


class ExperimentResult(Struct, kw_only=True, omit_defaults=True, tag_field="task", tag="experiment"):
    """The result of an experiment. While the experiment runs, the result covers the finished runs."""

    marks: list[AxisMark]
    """Marked places on the horizontal axis."""

    notes: list[str]
    """Remarks on the chart: the kind of the intervals, and the points that are only bounds."""

    series: list[MeasuredSeries]
    """The measured series. Points with an exact analysis stand among them."""

    theory: list[TheoryCurve]
    """The curves predicted by theory."""

    title: str
    """Title of the chart."""

    x: Axis
    """The horizontal axis."""

    y: Axis
    """The vertical axis."""

    runs: int
    """Number of runs in the chart."""

    runs_planned: int
    """Number of runs in the chart when the experiment is finished."""

    task: ClassVar[Literal["experiment"]] = "experiment"


class Explanation(Struct, kw_only=True, omit_defaults=True):
    """The heaviest terms of a hypothesis."""

    bias: TermWeight | None = None

    detail: str | None = None
    """Why conjunctions of more literals or the share are missing."""

    max_literals: int | None = None
    """The most literals of the compared conjunctions; null if the terms are features."""

    rule: str
    """The decision rule in words."""

    share: ExplanationShare | None = None

    terms: list[ExplanationTerm]
    """The heaviest terms."""


class ExplanationLiteral(Struct, kw_only=True, omit_defaults=True):
    """A feature or its complement."""

    feature: int
    """Number of the feature, from 1."""

    name: str
    """Name of the feature, or `x1`, `x2` and so on. A name is cut after 200 characters."""

    negated: bool
    """Whether the literal is true if the feature is 0."""


class ExplanationShare(Struct, kw_only=True, omit_defaults=True):
    """A share of squared weights."""

    decimal: float
    """The fraction as a number."""

    fraction: str
    """The exact fraction in lowest terms, such as `2/3`."""


class ExplanationTerm(Struct, kw_only=True, omit_defaults=True):
    """A term of a sum: a feature or a conjunction."""

    literals: list[ExplanationLiteral]
    """The literals of the conjunction. The empty conjunction is always true."""

    uses: int | None = None
    """Updates of the training that changed the weight: the support vectors that satisfy the conjunction. Null if the
    hypothesis does not keep them, and for an example.
    """

    value: float | None = None
    """Value of the feature in the explained example, which multiplies the weight. Null for a model, and for examples
    without values.
    """

    weight: TermWeight


class Extraction(Struct, kw_only=True, omit_defaults=True):
    """The names that an example gets from its texts, and the conjunctions of its names."""

    characters: list[int] | None = None
    """The least and the most characters of a sequence that is a name; null for none."""

    conjunctions: int | None = None
    """The most names in a conjunction. With 1 there are no conjunctions."""

    lower_case: bool | None = None
    """Whether texts are read in lower case."""

    occurrences: Occurrences | None = None
    """The value of a name."""

    version: TextVersion | None = None
    """The version of the extraction."""

    window: int | None = None
    """The number of places on each side of the marked word within which words are names; null if no word is marked."""

    words: list[int] | None = None
    """The least and the most words of a sequence that is a name; null for none."""


class FalseStopRateExperiment(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="false-stop-rate"):
    """The share of runs that a stopping rule ends at a wrong hypothesis."""

    name: ClassVar[Literal["false-stop-rate"]] = "false-stop-rate"

    params: FalseStopRateSpec
    """The share of runs that a stopping rule ends at a wrong hypothesis."""


class FalseStopRateExperimentRequest(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="false-stop-rate"):
    """The share of runs that a stopping rule ends at a wrong hypothesis."""

    name: ClassVar[Literal["false-stop-rate"]] = "false-stop-rate"

    params: FalseStopRateSpec | None = None
    """The share of runs that a stopping rule ends at a wrong hypothesis."""

    seed: int | None = None


class FalseStopRateSpec(Struct, kw_only=True, omit_defaults=True):
    """The share of runs of Directed Drift that a stopping rule ends at a wrong hypothesis."""

    deltas: list[float] | None = None
    """The allowed errors."""

    n: list[int] | None = None
    """Numbers of features."""

    rules: list[StopRule] | None = None
    """The stopping rules to compare."""

    runs: int | None = None
    """Number of runs per point."""


class FieldError(Struct, kw_only=True, omit_defaults=True):
    """One error of a request."""

    column: int | None = None
    """Byte within the line, or column of the row, from 1."""

    detail: str
    """Description of the error, with the expected value."""

    line: int | None = None
    """Line of the body, from 1."""

    offset: int | None = None
    """Byte of a binary body, or of a text that is not in its charset, from 0."""

    parameter: str | None = None
    """Query parameter or header at fault."""

    pointer: str | None = None
    """JSON Pointer (RFC 6901) to the error in the body."""

    repairs: list[Repair] | None = None
    """Parameters that mend the error, the likeliest first. Take one of each error: a request with all of them works if
    they have a `shape`. Absent if no parameter is known to help.
    """

    row: int | None = None
    """Row of a binary table, from 1."""


class Figure(Struct, kw_only=True, omit_defaults=True):
    """A ready-made figure."""

    experiment: ExperimentSpec
    """The experiment behind the figure."""

    name: str
    """Name of the figure in the path that runs the experiment."""

    title: str
    """Title that describes the figure."""


class FigureList(Struct, kw_only=True, omit_defaults=True):
    """All ready-made figures."""

    items: list[Figure]

    next_cursor: str | None = None
    """Always null, because all figures fit on one page."""


class FigureRequest(Struct, kw_only=True, omit_defaults=True):
    """Options of a run of a ready-made figure."""

    callback: str | None = None
    """URL to notify when the job ends. Needs a configured callback secret."""

    name: str | None = None
    """Free text that names the job."""

    params: dict[str, Any] | None = None
    """Parameters that replace those of the figure's experiment."""

    priority: Priority | None = None

    seed: SeedNumber | None = None


class FixedRule(Struct, kw_only=True, omit_defaults=True):
    """A rule that accepts after a fixed number of consecutive consistent examples."""

    false_stop_probability: float
    """Probability that the rule ends a run from a random start at a wrong hypothesis."""

    false_stop_probability_by_distance: list[float]
    """The same probability from each Hamming distance, 0 to n."""

    false_stop_probability_worst_start: float
    """The same probability from the worst start, the complement of the target."""

    run_length: int
    """Number of consecutive consistent examples."""


class FocusingBpLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="focusing-bp"):
    """Focusing belief propagation"""

    name: ClassVar[Literal["focusing-bp"]] = "focusing-bp"

    params: dict[str, Any] | None = None


class GeneratedData(Struct, kw_only=True, omit_defaults=True):
    """Examples that the service draws"""

    count: int | None = None

    density: float | None = None

    n: int

    noise: float | None = None

    sampling: Literal["uniform-positive", "reflected", "uniform"]

    target: Target


class GeneratedReceiptData(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="generated"):
    """Examples that are drawn with the seed of the receipt."""

    kind: ClassVar[Literal["generated"]] = "generated"

    spec: dict[str, Any]
    """The description of the examples."""


class GordanCertificate(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="gordan"):
    """Positive multipliers with sum lambda_i y_i x_i = 0. No strict separator exists (Gordan)."""

    kind: ClassVar[Literal["gordan"]] = "gordan"

    multipliers: list[MultiplierDocument]
    """The multipliers that are not 0."""


class GridRequest(Struct, kw_only=True, omit_defaults=True):
    """Trains over the product of lists of values. Each training is a part of the job."""

    over: dict[str, Any]
    """Lists of values for fields of the training. The fields are `seed`, `holdout`, `stratify`, `minimum_count`,
    `discard`, `multiclass`, `class_weight`, `learner.name`, and dotted names below `learner.params` and `stop`.
    """

    train: TrainRequest
    """The training before its fields are replaced. All trainings share its data, which you send once. The training can
    have neither `warm_start` nor `trace`.
    """


class GridResult(Struct, kw_only=True, omit_defaults=True, tag_field="task", tag="grid"):
    """The result of a grid."""

    best: int | None = None
    """Index of the best training, from 0. The best training has the smallest share of errors on the held-out examples,
    or on its sample if none were held out. Fewer mistakes decide between equal shares, then the smaller index.
    """

    intervals: ErrorIntervals | None = None

    task: ClassVar[Literal["grid"]] = "grid"

    trainings: list[GridTraining]
    """All trainings. The values of the last field change first."""


class GridTraining(Struct, kw_only=True, omit_defaults=True):
    """The result of one training of a grid."""

    certificates: list[Certificate] | None = None
    """Proved statements about this answer. Each holds by itself with its confidence, and not all of them jointly."""

    certificates_withheld: list[WithheldCertificate] | None = None
    """The certificates that this answer lacks, with the reasons."""

    examples: int | None = None
    """Examples read."""

    holdout: ErrorCount | None = None

    interval: ErrorInterval | None = None

    job: JobId
    """The job of the training. The job has the full result."""

    mistakes: int | None = None
    """Examples that the current hypothesis predicted wrongly."""

    over: dict[str, Any]
    """The replaced fields and their values."""

    reason: str | None = None
    """The reason why the training ended."""

    status: Status
    """The final status of the job."""

    training: ErrorCount | None = None


class Guarantee(Struct, kw_only=True, omit_defaults=True):
    """The proved property of the learner."""

    bound: str
    """Statement of the theorem."""

    theorem: str
    """Name of the theorem."""


class HalfSpaceData(Struct, kw_only=True, omit_defaults=True):
    """Positive examples of a half-space"""

    assume: HalfSpaceAssume | None = None

    examples: list[Features]


class Health(Struct, kw_only=True, omit_defaults=True):
    """The health of the service."""

    status: str
    """`ok`, or `stalled` while a thread of the process is held up. An unhealthy service answers with a problem."""


class HeatMap(Struct, kw_only=True, omit_defaults=True):
    """Values in rows and columns."""

    columns: int
    """Values per row."""

    label: str
    """What the values are."""

    values: list[float]
    """The values, row by row. All maps together have at most 524,288."""


class HeatMaps(Struct, kw_only=True, omit_defaults=True):
    """Maps of values in rows and columns, with one scale of colours."""

    maps: list[HeatMap]
    """The maps from left to right."""

    strongest: float | None = None
    """The absolute value with the strongest colour; the largest absolute value when absent."""

    title: str
    """Title of the picture."""


class IgnoredColumn(Struct, kw_only=True, omit_defaults=True):
    """A column without features."""

    column: str
    """The name of the column."""

    index: int
    """The number of the column in the file, from 1."""

    why: str
    """The reason."""


class ImportRequest(Struct, kw_only=True, omit_defaults=True):
    """Stores an object of a bucket as a dataset."""

    assume: Assume | None = None

    format: str | None = None
    """Format of the object: a file extension such as `csv`, or a media type. By default the Content-Type of the object
    decides, and if that says nothing about data, the extension of the key, before a `.gz` or `.zst`.
    """

    max_seconds: float | None = None
    """Seconds of computing; 600 when absent."""

    parameters: dict[str, str] | None = None
    """Options for reading the data, by the names of the query parameters of `POST /v1/datasets`."""

    source: str
    """Address of the object: `s3://bucket/key`, within a prefix that the operator allows with `--sources`. The key is
    taken as it is written, without percent-encoding.
    """


class ImportResult(Struct, kw_only=True, omit_defaults=True, tag_field="task", tag="import"):
    """The dataset that an import made."""

    bytes: int
    """Bytes of the examples in the store."""

    class_examples: list[int] | None = None
    """Number of examples of each class, as in the dataset."""

    columns: int | None = None
    """Number of columns of the table, if the data are one."""

    dataset: DatasetId
    """The dataset. It may have been deleted since."""

    etag: str
    """ETag of the object, which identifies its version."""

    examples: int
    """Number of examples."""

    kind: LabelsKind
    """Kind of the examples."""

    media_type: str
    """Media type as which the object was read."""

    n: int
    """Features per example."""

    seconds: float
    """Seconds of computing."""

    sha256: str
    """SHA-256 digest of the canonical rows."""

    source: str
    """Address of the object."""

    source_bytes: int
    """Bytes of the object."""

    task: ClassVar[Literal["import"]] = "import"

    values: RowsKind
    """Kind of the features."""


class InferenceAnswer(Struct, kw_only=True, omit_defaults=True):
    """The predictions of a model as tensors."""

    id: str | None = None
    """The id of the request, if present."""

    model_name: ModelId

    model_version: str
    """Always 1."""

    outputs: list[OutputTensor]


class InferenceLive(Struct, kw_only=True, omit_defaults=True):
    """Whether the service is alive."""

    live: bool


class InferenceModel(Struct, kw_only=True, omit_defaults=True):
    """The input and output tensors of a model."""

    inputs: list[TensorMetadata]

    name: ModelId
    """The id of the model."""

    outputs: list[TensorMetadata]

    platform: str
    """Always `halfspace`."""

    versions: list[str]
    """The only version."""


class InferenceModelReady(Struct, kw_only=True, omit_defaults=True):
    """Whether a model is ready for predictions."""

    name: ModelId
    """The id of the model."""

    ready: bool


class InferenceReady(Struct, kw_only=True, omit_defaults=True):
    """Whether the service can answer requests. Clients read either `live` or `ready`."""

    live: bool

    ready: bool


class InferenceRequest(Struct, kw_only=True, omit_defaults=True):
    """A prediction request."""

    id: str | None = None
    """An id that the answer repeats."""

    inputs: list[InputTensor]
    """Exactly one tensor, `x`."""

    model_name: ModelId | None = None

    model_version: ModelVersion | None = None

    outputs: list[RequestedOutput] | None = None
    """Output tensors in the order of the answer; all when absent."""

    parameters: RequestParameters | None = None


class InferenceServer(Struct, kw_only=True, omit_defaults=True):
    """The server and the extensions of the protocol."""

    extensions: list[str]
    """Supported extensions of the protocol."""

    name: str

    version: str


class InputParameters(Struct, kw_only=True, omit_defaults=True):
    """Parameters of the input tensor."""

    binary_data_size: int | None = None
    """Bytes of the tensor, which then follows the JSON as octets."""

    content_type: ContentHint | None = None


class InputTensor(Struct, kw_only=True, omit_defaults=True):
    """The examples as a tensor: numbers in `data`, or octets after the JSON."""

    data: list[TensorItem] | None = None
    """Numbers in the quantity of the shape, row by row, in one list or in one list per row. A model of Boolean data
    needs values that are all 0/1 or all -1/1.
    """

    datatype: Datatype

    name: InputName

    parameters: InputParameters | None = None

    shape: list[int]
    """`[examples, n]`, or `[n]` for one example."""


class Job(Struct, kw_only=True, omit_defaults=True):
    """A job."""

    attempt: int
    """Attempts that began. An attempt that a worker hands back without a failure is not counted."""

    callback: Callback | None = None

    created_at: Timestamp

    data_sha256: str | None = None
    """Digest of the canonical rows. Null for generated data and for jobs without data."""

    dataset: DatasetId | None = None

    error: JobError | None = None

    finished_at: Timestamp | None = None

    id: JobId

    learner: LearnerSpec | None = None

    name: str | None = None

    parent: JobId | None = None

    part: int | None = None
    """Number of this part within the parent job, from 0."""

    parts: Parts | None = None

    priority: int
    """Jobs of higher priority run first among the jobs of the same key."""

    progress: Progress

    queue: QueuePlace | None = None

    request: dict[str, Any] | None = None
    """Request that repeats the job, in the form of `POST /v1/jobs`. The request has no `data` if the rows came inside
    the request, because the service keeps them only until the job ends. Null for parts of experiments, for
    trainings that hold out a fold, and unless the answer is about this job alone.
    """

    result: JobResult | None = None

    seed: int
    """Seed of every random choice."""

    started_at: Timestamp | None = None

    status: Status

    table: TableEncoding | None = None

    task: str
    """Task of the job."""

    warm_start: ModelId | None = None


class JobCounts(Struct, kw_only=True, omit_defaults=True):
    """The jobs of the queue by their state."""

    parked: int
    """Jobs that have begun and yield to other jobs in their process."""

    queued: int
    """Jobs that wait for a worker. The parts of a job count instead of the job."""

    running: int
    """Jobs that a worker computes now."""


class JobError(Struct, kw_only=True, omit_defaults=True):
    """The reason why a job failed."""

    code: str
    """A stable error code."""

    detail: str
    """An explanation in words."""


class JobIds(Struct, kw_only=True, omit_defaults=True):
    """Jobs to cancel or to delete."""

    ids: list[JobId]
    """Ids of jobs. Parts are cancelled and deleted with the job of which they are parts."""


class JobList(Struct, kw_only=True, omit_defaults=True):
    """A page of jobs, newest first."""

    items: list[Job]

    next_cursor: str | None = None
    """Cursor of the next page; null on the last page."""


class JobOutcome(Struct, kw_only=True, omit_defaults=True):
    """What became of one job."""

    id: JobId

    refusal: JobRefusal | None = None

    status: Status | None = None


class JobOutcomes(Struct, kw_only=True, omit_defaults=True):
    """What became of each job of the request."""

    items: list[JobOutcome]
    """One item for each id, in the order of the request."""


class JobRefusal(Struct, kw_only=True, omit_defaults=True):
    """Reason why a job was neither cancelled nor deleted."""

    code: str
    """Name of the error, as in a problem document. `/problems/{code}` explains it."""

    detail: str


class JobRequest(Struct, kw_only=True, omit_defaults=True):
    """A job to create, with exactly one task."""

    callback: str | None = None
    """URL that is notified when the job ends. The service needs a configured secret."""

    compare: CompareRequest | None = None

    evaluate: EvaluateRequest | None = None

    experiment: ExperimentRequest | None = None

    grid: GridRequest | None = None

    import_: ImportRequest | None = field(name="import", default=None)

    maximum_margin: MaximumMarginRequest | None = None

    name: str | None = None
    """Free text."""

    priority: int | None = None
    """Priority among the waiting jobs of the same key. Jobs of higher priority run first; 0 when absent."""

    separability: SeparabilityRequest | None = None

    train: TrainRequest | None = None

    version_space: VersionSpaceRequest | None = None


class KernelDocument(Struct, kw_only=True, omit_defaults=True):
    """The conjunctions that a kernel counts."""

    conjunctions: Conjunctions
    """All conjunctions, or those without negated literals."""

    max_literals: int | None = None
    """The largest number of literals of a conjunction; null for any number."""


class KernelHypothesis(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="kernel"):
    """Prediction +1 iff the sum of `y K(x, example)` over the support vectors is >= 0. K is the number of conjunctions
    that both vectors satisfy.
    """

    kernel: KernelDocument
    """The conjunctions that the kernel counts."""

    kind: ClassVar[Literal["kernel"]] = "kernel"

    n: int
    """Number of features."""

    support: list[SupportVector]
    """The mistakes of the training, in their order."""


class KernelPerceptronLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="kernel-perceptron"):
    """Kernel perceptron"""

    name: ClassVar[Literal["kernel-perceptron"]] = "kernel-perceptron"

    params: dict[str, Any] | None = None


class KernelWinnowHypothesis(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="kernel-winnow"):
    """Prediction +1 iff the weights of the satisfied conjunctions add up to at least theta.

    The sum is over the nonempty monotone conjunctions that the example satisfies. The weight of a conjunction is
    alpha^(p - d). The number p counts the promotions on examples that satisfy the conjunction, and d counts the
    demotions.
    """

    alpha: int
    """The base of the weights, an integer from 2."""

    kind: ClassVar[Literal["kernel-winnow"]] = "kernel-winnow"

    max_active: int
    """The largest number of active features of an example."""

    max_literals: int | None = None
    """The largest number of features in a conjunction; absent for any number."""

    n: int
    """Number of features."""

    support: list[CountedExample]
    """The examples that changed the hypothesis."""

    theta: str
    """The threshold as a plain decimal."""

    unseen_weight: int | None = None
    """The weight of a conjunction with a name that the model does not list: 1 when absent, and 0 if the training left
    names out.
    """


class KernelWinnowLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="kernel-winnow"):
    """Kernel Winnow"""

    name: ClassVar[Literal["kernel-winnow"]] = "kernel-winnow"

    params: dict[str, Any] | None = None


class LabelCount(Struct, kw_only=True, omit_defaults=True):
    """A label value and its number of rows."""

    rows: int
    """Number of rows with the value."""

    value: str
    """The value. A number is in its shortest form."""


class LabelEncoding(Struct, kw_only=True, omit_defaults=True):
    """The label column of a table."""

    classes: list[str | None]
    """The values, one per class, in the order of the codes. Of two classes, the first has the label -1 and the second
    the label 1. The first is null if it means every value that is not another class.
    """

    column: str
    """The name of the column."""

    index: int
    """The number of the column in the file, from 1."""


class LabelledData(Struct, kw_only=True, omit_defaults=True):
    """Examples with labels"""

    assume: LabelledAssume | None = None

    examples: list[LabelledExample]


class LabelledExample(Struct, kw_only=True, omit_defaults=True):
    """An example and its label"""

    x: Features

    y: Label


class Learner(Struct, kw_only=True, omit_defaults=True):
    """A learner of the catalogue."""

    confidence_rules: list[str]
    """Rules that can stop a run with a confidence c; the first rule is the default. Of all runs started like this, at
    most 1 - c claim c and are wrong. This is not the share among those that stopped.
    """

    data: list[str]
    """Examples that the learner accepts: `half-space`, `labelled` or both. Every learner accepts Boolean features;
    `real` means that the learner also accepts real-valued features, and `names` that features may have names, which
    may be new in any example. Every learner accepts whole weights of examples; `fractional-weights` means that
    weights need not be whole.
    """

    default_stop: DefaultStop
    """Conditions that end a training whose request states none. A condition of the request replaces its default."""

    fits: bool | None = None
    """Whether the learner can learn from the dataset of the request with its default parameters. Null without a
    dataset.
    """

    guarantee: Guarantee
    """A theorem about a learner."""

    learns: str
    """The concept that the learner learns, with its most important property."""

    mode: str
    """`on-line` if the learner learns one example at a time, `batch` if the learner needs the whole sample."""

    name: str
    """Name in requests."""

    parameters: dict[str, Any]
    """Parameters as a JSON Schema with defaults."""

    reading: str
    """Numbers that the two bits stand for: -1 and +1 if `signed`, 0 and 1 if `unsigned`."""

    source: str
    """Publication that describes the learner."""

    title: str
    """Name for people."""

    unfit: str | None = None
    """Reason why the learner cannot learn from the dataset. Null if the learner can, and without a dataset."""


class LearnerList(Struct, kw_only=True, omit_defaults=True):
    """All learners, on one page."""

    items: list[Learner]

    next_cursor: str | None = None
    """Always null, because the list has one page."""


class Limits(Struct, kw_only=True, omit_defaults=True):
    """Limits in force. The error of a refused request names its limit as here."""

    answer_bytes_max: int
    """Bytes of a document of predictions, of a page of examples and its values, of the data that a construction
    returns, and of a figure that you describe, both its description and its picture. Predictions come without
    scores when the scores would exceed the limit. A longer answer is refused. In an answer of lines, the limit
    applies to the bytes that the client has not read yet.

    Such an answer is held in memory until the client has read it; data that are larger have datasets and lines.
    """

    answer_seconds_max: float
    """Seconds of computing for one answer, such as an evaluation, a figure of a theorem, predictions in one JSON
    document, or the examples of a request to a session.

    A client and its proxy wait for the answer that long.
    """

    body_bytes_max: int
    """Bytes of a body after decompression, in any format except JSON, and of the examples that are stored from it as a
    dataset, packed or as doubles.

    Eight uploads at once then take at most 32 GiB of disk.
    """

    classes_max: int
    """Classes that the labels of new data may name.

    A training has a hypothesis for each class, and shows every example to all of them.
    """

    compare_folds_max: int
    """Folds per comparison.

    Each fold is one more training of every learner.
    """

    compare_learners_max: int
    """Learners per comparison.

    Five settings of each of the 17 learners fit.
    """

    computations_max: int
    """Concurrent computations of answers that need no examples, such as figures of theorems and documents of models.
    Keys share them as `uploads_max` describes.

    Most of them take milliseconds, some up to `answer_seconds_max`; with sixteen, the short ones pass a few long
    ones.
    """

    connections_max: int
    """Concurrent connections.

    Each connection takes a file handle and buffers.
    """

    constructions_max: int
    """Concurrent constructions. Keys share them as `uploads_max` describes.

    A construction computes for up to 20 seconds and holds its rows in memory.
    """

    decompression_ratio_max: int
    """Average number of decompressed bytes per compressed byte, in bodies of more than 16 MiB after decompression.

    DEFLATE packs at most 1,032 bytes into one, so this refuses bombs and hardly any data.
    """

    dichotomies_max: int
    """Points, and also dimensions, in the count of separable dichotomies.

    The count then has about 3,000 digits.
    """

    event_streams_max: int
    """Concurrent event streams of all keys together: a quarter of `connections_max`. Keys share them as `uploads_max`
    describes.

    A stream holds its connection, and most connections must stay free for requests.
    """

    exact_analysis_n_max: int
    """Features up to which the exact analysis of Directed Drift and the stopping rule `exact` are available.

    Up to here the numbers stay inside the range of doubles and take milliseconds.
    """

    example_names_max: int
    """Names of an example together with their conjunctions.

    1,447 names have 1,047,628 conjunctions of at most two names.
    """

    experiment_points_max: int
    """Points of the grid of an experiment.

    A figure hardly shows more points, and each part of the job keeps counts of all of them.
    """

    grid_trainings_max: int
    """Trainings per grid.

    Each training is a job in the queue, where a key may have 20,000.
    """

    job_ids_max: int
    """Jobs per request that cancels or deletes several jobs.

    The client waits while one job after the other is cancelled or deleted.
    """

    jobs_queued_max: int
    """Waiting jobs of all keys together.

    Waiting jobs take rows of the store and keep their data, even if no process computes them.
    """

    jobs_queued_per_key_max: int
    """Waiting jobs per key; by default 20,000, or a fifth of `jobs_queued_max` if that is more.

    One key must not fill the queue alone.
    """

    json_body_bytes_max: int
    """Bytes of a decompressed JSON body.

    What a JSON body says is held in memory as a whole; for more data, choose a format that is read in parts.
    """

    json_depth_max: int
    """Depth of nested arrays and objects in JSON.

    It bounds the recursion of the parser; requests of this API nest about ten levels deep.
    """

    line_bytes_max: int
    """Bytes per line.

    A row of 1,048,576 numbers of 32 characters each is so long.
    """

    memory_bytes_max: int
    """Bytes of memory for one request or job while no other request or job uses memory.

    What needs more can never run in this process, so waiting would be no use.
    """

    model_bytes_max: int
    """Bytes of an imported model after decompression.

    A model of two classes of 16,777,216 names takes about 600 MB if the names have 12 characters.
    """

    model_entries_max: int
    """Features times classes of a session of more than two classes.

    A session of more weights would not fit the documents of its hypothesis.
    """

    n_max: int
    """Features per example, unless the examples come as LIBSVM and have few active ones.

    A block of 64 rows of bits then takes 8 MiB. Indices go up to 2^32 - 2, and the memory of a task limits what it
    can do with them.
    """

    name_characters_max: int
    """Characters per name.

    A name stands on one line of lists and figures.
    """

    names_max: int
    """Distinct names of features in a body or a model.

    A model has a weight for each name, and each class of a committee has its own.
    """

    parts_request_bytes_max: int
    """Bytes of the requests of all parts of a job. Each training of a grid and each part of an experiment has a
    request of its own.

    All of these requests are made and stored at once.
    """

    parts_seconds_max: float
    """Estimated seconds of one core for an experiment, a grid or a comparison, summed over all its parts.

    One request can plan ten thousand trainings, so their sum has a limit of its own.
    """

    query_pairs_max: int
    """Parameters in the query of a URL.

    All pairs are held in memory and compared.
    """

    read_seconds_max: float
    """Seconds of computing to read one body: an upload, a preview, or the examples of a request. A second per 32 MiB
    of `body_bytes_max`, or of `json_body_bytes_max` if that is larger.

    Larger bodies may take longer, and a core reads any format at this pace, so only a body made to be slow is
    refused.
    """

    seconds_max: float
    """Seconds of computing that a job may ask for.

    A forgotten job frees its worker after a day.
    """

    session_idle_seconds: int
    """Seconds without data after which a stream into a session ends. Other requests can then write to the session.

    Another writer waits 35 seconds for its turn, so a silent stream must end before.
    """

    session_lines_max: int
    """Lines of one NDJSON stream into a session. In other formats except JSON, the examples of one request.

    A request keeps other writers from its session, and further examples can follow in another one.
    """

    session_names_max: int
    """Names of features of a session with an open vocabulary.

    The session writes all of them to disk again and again, each with its weights.
    """

    sessions_max: int
    """Sessions per key.

    Sessions stay until somebody deletes them, and each keeps its state and log in the store.
    """

    source_bytes_max: int
    """Bytes of an object of a bucket that becomes a dataset, after decompression, and of the examples that are stored
    from it. Objects of JSON have the limit `json_body_bytes_max`.

    No connection of a client waits for an import, so it may be larger than a body; a job that reads Parquet or XLSX
    keeps the object on disk meanwhile.
    """

    state_bytes_max: int
    """Bytes of the packed data of a job. The same number limits the state of the job besides its data.

    A process computes several jobs at once, so a single one gets a part of its memory.
    """

    stored_bytes_max: int
    """Stored bytes of all keys together: datasets, data of jobs that have not ended, models, and the states and logs
    of sessions. The default is 1 TiB, and while blobs are files at most the bytes stored at the start and nine
    tenths of the free disk.

    A full disk stops everything that writes, so uploads are refused before.
    """

    stored_bytes_per_key_max: int
    """Stored bytes per key; by default 256 GiB, or a quarter of `stored_bytes_max` if that is more. A disk that lowers
    the default of `stored_bytes_max` makes this one at most half of it.

    One key must not fill the store alone.
    """

    stored_ratio_max: int
    """Average number of stored bytes per byte of the body as sent, in datasets of more than 64 MiB.

    A few bytes of a compressed body may stand for gibibytes; 64 MiB are eight dense rows of 1,048,576 numbers.
    """

    streams_max: int
    """Concurrent predictions that are answered line by line. Keys share them as `uploads_max` describes.

    Each stream holds a thread for as long as its client sends.
    """

    theta_digits_max: int
    """Digits of a `theta`.

    2^33,000 has about so many digits, and each comparison takes time with their number.
    """

    uploads_max: int
    """Concurrent large bodies of all keys together. A key may begin another one only while the key holds fewer permits
    than are free. One key therefore holds at most half of the permits, rounded up. Callers of an open service,
    which has no keys, may hold all permits. Each body may use up to `state_bytes_max` of memory; dataset uploads
    spill to disk instead.

    Each body holds a thread and memory for as long as its client sends.
    """

    version_space_n_max: int
    """Features up to which a version space is enumerated.

    The enumeration looks at up to 2^n hypotheses, so each further feature doubles its time.
    """


class LimitsAnswer(Struct, kw_only=True, omit_defaults=True):
    """Limits in force, and the caller's use of the limits per key."""

    answer_bytes_max: int
    """Bytes of a document of predictions, of a page of examples and its values, of the data that a construction
    returns, and of a figure that you describe, both its description and its picture. Predictions come without
    scores when the scores would exceed the limit. A longer answer is refused. In an answer of lines, the limit
    applies to the bytes that the client has not read yet.

    Such an answer is held in memory until the client has read it; data that are larger have datasets and lines.
    """

    answer_seconds_max: float
    """Seconds of computing for one answer, such as an evaluation, a figure of a theorem, predictions in one JSON
    document, or the examples of a request to a session.

    A client and its proxy wait for the answer that long.
    """

    body_bytes_max: int
    """Bytes of a body after decompression, in any format except JSON, and of the examples that are stored from it as a
    dataset, packed or as doubles.

    Eight uploads at once then take at most 32 GiB of disk.
    """

    classes_max: int
    """Classes that the labels of new data may name.

    A training has a hypothesis for each class, and shows every example to all of them.
    """

    compare_folds_max: int
    """Folds per comparison.

    Each fold is one more training of every learner.
    """

    compare_learners_max: int
    """Learners per comparison.

    Five settings of each of the 17 learners fit.
    """

    computations_max: int
    """Concurrent computations of answers that need no examples, such as figures of theorems and documents of models.
    Keys share them as `uploads_max` describes.

    Most of them take milliseconds, some up to `answer_seconds_max`; with sixteen, the short ones pass a few long
    ones.
    """

    connections_max: int
    """Concurrent connections.

    Each connection takes a file handle and buffers.
    """

    constructions_max: int
    """Concurrent constructions. Keys share them as `uploads_max` describes.

    A construction computes for up to 20 seconds and holds its rows in memory.
    """

    decompression_ratio_max: int
    """Average number of decompressed bytes per compressed byte, in bodies of more than 16 MiB after decompression.

    DEFLATE packs at most 1,032 bytes into one, so this refuses bombs and hardly any data.
    """

    dichotomies_max: int
    """Points, and also dimensions, in the count of separable dichotomies.

    The count then has about 3,000 digits.
    """

    event_streams_max: int
    """Concurrent event streams of all keys together: a quarter of `connections_max`. Keys share them as `uploads_max`
    describes.

    A stream holds its connection, and most connections must stay free for requests.
    """

    exact_analysis_n_max: int
    """Features up to which the exact analysis of Directed Drift and the stopping rule `exact` are available.

    Up to here the numbers stay inside the range of doubles and take milliseconds.
    """

    example_names_max: int
    """Names of an example together with their conjunctions.

    1,447 names have 1,047,628 conjunctions of at most two names.
    """

    experiment_points_max: int
    """Points of the grid of an experiment.

    A figure hardly shows more points, and each part of the job keeps counts of all of them.
    """

    grid_trainings_max: int
    """Trainings per grid.

    Each training is a job in the queue, where a key may have 20,000.
    """

    job_ids_max: int
    """Jobs per request that cancels or deletes several jobs.

    The client waits while one job after the other is cancelled or deleted.
    """

    jobs_queued_max: int
    """Waiting jobs of all keys together.

    Waiting jobs take rows of the store and keep their data, even if no process computes them.
    """

    jobs_queued_per_key_max: int
    """Waiting jobs per key; by default 20,000, or a fifth of `jobs_queued_max` if that is more.

    One key must not fill the queue alone.
    """

    json_body_bytes_max: int
    """Bytes of a decompressed JSON body.

    What a JSON body says is held in memory as a whole; for more data, choose a format that is read in parts.
    """

    json_depth_max: int
    """Depth of nested arrays and objects in JSON.

    It bounds the recursion of the parser; requests of this API nest about ten levels deep.
    """

    line_bytes_max: int
    """Bytes per line.

    A row of 1,048,576 numbers of 32 characters each is so long.
    """

    memory_bytes_max: int
    """Bytes of memory for one request or job while no other request or job uses memory.

    What needs more can never run in this process, so waiting would be no use.
    """

    model_bytes_max: int
    """Bytes of an imported model after decompression.

    A model of two classes of 16,777,216 names takes about 600 MB if the names have 12 characters.
    """

    model_entries_max: int
    """Features times classes of a session of more than two classes.

    A session of more weights would not fit the documents of its hypothesis.
    """

    n_max: int
    """Features per example, unless the examples come as LIBSVM and have few active ones.

    A block of 64 rows of bits then takes 8 MiB. Indices go up to 2^32 - 2, and the memory of a task limits what it
    can do with them.
    """

    name_characters_max: int
    """Characters per name.

    A name stands on one line of lists and figures.
    """

    names_max: int
    """Distinct names of features in a body or a model.

    A model has a weight for each name, and each class of a committee has its own.
    """

    parts_request_bytes_max: int
    """Bytes of the requests of all parts of a job. Each training of a grid and each part of an experiment has a
    request of its own.

    All of these requests are made and stored at once.
    """

    parts_seconds_max: float
    """Estimated seconds of one core for an experiment, a grid or a comparison, summed over all its parts.

    One request can plan ten thousand trainings, so their sum has a limit of its own.
    """

    query_pairs_max: int
    """Parameters in the query of a URL.

    All pairs are held in memory and compared.
    """

    read_seconds_max: float
    """Seconds of computing to read one body: an upload, a preview, or the examples of a request. A second per 32 MiB
    of `body_bytes_max`, or of `json_body_bytes_max` if that is larger.

    Larger bodies may take longer, and a core reads any format at this pace, so only a body made to be slow is
    refused.
    """

    seconds_max: float
    """Seconds of computing that a job may ask for.

    A forgotten job frees its worker after a day.
    """

    session_idle_seconds: int
    """Seconds without data after which a stream into a session ends. Other requests can then write to the session.

    Another writer waits 35 seconds for its turn, so a silent stream must end before.
    """

    session_lines_max: int
    """Lines of one NDJSON stream into a session. In other formats except JSON, the examples of one request.

    A request keeps other writers from its session, and further examples can follow in another one.
    """

    session_names_max: int
    """Names of features of a session with an open vocabulary.

    The session writes all of them to disk again and again, each with its weights.
    """

    sessions_max: int
    """Sessions per key.

    Sessions stay until somebody deletes them, and each keeps its state and log in the store.
    """

    source_bytes_max: int
    """Bytes of an object of a bucket that becomes a dataset, after decompression, and of the examples that are stored
    from it. Objects of JSON have the limit `json_body_bytes_max`.

    No connection of a client waits for an import, so it may be larger than a body; a job that reads Parquet or XLSX
    keeps the object on disk meanwhile.
    """

    state_bytes_max: int
    """Bytes of the packed data of a job. The same number limits the state of the job besides its data.

    A process computes several jobs at once, so a single one gets a part of its memory.
    """

    stored_bytes_max: int
    """Stored bytes of all keys together: datasets, data of jobs that have not ended, models, and the states and logs
    of sessions. The default is 1 TiB, and while blobs are files at most the bytes stored at the start and nine
    tenths of the free disk.

    A full disk stops everything that writes, so uploads are refused before.
    """

    stored_bytes_per_key_max: int
    """Stored bytes per key; by default 256 GiB, or a quarter of `stored_bytes_max` if that is more. A disk that lowers
    the default of `stored_bytes_max` makes this one at most half of it.

    One key must not fill the store alone.
    """

    stored_ratio_max: int
    """Average number of stored bytes per byte of the body as sent, in datasets of more than 64 MiB.

    A few bytes of a compressed body may stand for gibibytes; 64 MiB are eight dense rows of 1,048,576 numbers.
    """

    streams_max: int
    """Concurrent predictions that are answered line by line. Keys share them as `uploads_max` describes.

    Each stream holds a thread for as long as its client sends.
    """

    theta_digits_max: int
    """Digits of a `theta`.

    2^33,000 has about so many digits, and each comparison takes time with their number.
    """

    uploads_max: int
    """Concurrent large bodies of all keys together. A key may begin another one only while the key holds fewer permits
    than are free. One key therefore holds at most half of the permits, rounded up. Callers of an open service,
    which has no keys, may hold all permits. Each body may use up to `state_bytes_max` of memory; dataset uploads
    spill to disk instead.

    Each body holds a thread and memory for as long as its client sends.
    """

    version_space_n_max: int
    """Features up to which a version space is enumerated.

    The enumeration looks at up to 2^n hypotheses, so each further feature doubles its time.
    """

    own: OwnUse
    """The caller's own limits and their use. The limits may differ from those of other keys."""


class Lineage(Struct, kw_only=True, omit_defaults=True):
    """The data that a model and its ancestors learnt from."""

    all_generated: bool | None = None
    """Whether this service generated all data behind the model. False if some were sent, and for models of files and
    of first hypotheses that a client gave.
    """

    cut: bool | None = None
    """Whether there were more than 1,000 seeds or digests, so that some are left out."""

    seeds: list[int] | None = None
    """The seeds of generated data, ascending."""

    sha256: list[str] | None = None
    """The digests of sent and stored data, ascending. A session has one per body of at least two examples. Of a stream
    that is learnt in steps it has that of the first step.
    """


class LinearHypothesis(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="linear"):
    """Prediction +1 iff the sum of weights times features, plus the bias, is >= 0."""

    bias: float | None = None
    """The bias; null if the hypothesis has none."""

    kind: ClassVar[Literal["linear"]] = "linear"

    n: int
    """Number of features."""

    reading: Reading | None = None

    unit: float | None = None
    """The unit of the weights and the bias; 1 when absent. Each weight is an integer multiple of the unit. The sum is
    computed exactly over these integers.
    """

    weights: list[float]
    """One number per feature. Integers are exact."""


class MaximumMarginRequest(Struct, kw_only=True, omit_defaults=True):
    """Finds the hyperplane with the largest margin."""

    bias: bool | None = None
    """Whether the hyperplane may miss the origin."""

    confidence: float | None = None
    """The confidence of the certificate; 0.95 when absent."""

    data: Data

    max_seconds: float | None = None
    """Seconds of computing; 600 when absent."""

    reading: Reading | None = None

    seed: SeedNumber | None = None


class MaximumMarginResult(Struct, kw_only=True, omit_defaults=True, tag_field="task", tag="maximum_margin"):
    """The hyperplane with the largest margin."""

    certificates: list[Certificate] | None = None
    """Proved statements about this answer. Each holds by itself with its confidence, and not all of them jointly."""

    certificates_withheld: list[WithheldCertificate] | None = None
    """The certificates that this answer lacks, with the reasons."""

    bound: BoundDocument | None = None

    certificate: CertificateDocument | None = None

    detail: str | None = None
    """The reason why there is no hyperplane, or the basis of the figures."""

    hypothesis: HypothesisDocument | None = None

    margin: float | None = None
    """The proved distance of the nearest examples from the hyperplane."""

    margin_at_most: float | None = None
    """An upper bound on the margin of every hyperplane."""

    model: ModelId | None = None

    seconds: float
    """Seconds of computing."""

    separable: bool | None = None
    """Null if a limit ended the computation."""

    support: list[int] | None = None
    """The indices of all examples at the margin, from 0: of the exact optimum, or as `detail` says."""

    task: ClassVar[Literal["maximum_margin"]] = "maximum_margin"


class MeasuredPoint(Struct, kw_only=True, omit_defaults=True):
    """A measured point with an interval of 95 %."""

    censored: int
    """Number of runs that a limit ended early. If there are any, the true value is at least `y`."""

    high: float | None = None
    """Upper end of the interval. Missing if a mean has only one run or a limit ended some of the runs."""

    low: float | None = None
    """Lower end of the interval. Missing if a mean has only one run."""

    runs: int
    """Number of runs at this point; 0 if the value is exact."""

    x: float
    """Position on the horizontal axis."""

    y: float
    """Position on the vertical axis."""


class MeasuredSeries(Struct, kw_only=True, omit_defaults=True):
    """A series of points with one label."""

    form: SeriesForm | None = None
    """How the points are drawn; `marked` when absent."""

    label: str
    """The property that the points share: learner, number of features or rule."""

    points: list[MeasuredPoint]
    """The points from left to right."""


class MinError(Struct, kw_only=True, omit_defaults=True):
    """Smallest error of a wrong hypothesis. A hypothesis at Hamming distance 1 from the target has this error."""

    reflected: float
    """Error on examples that are uniform over the cube, with negative examples negated."""

    uniform_positive: float
    """Error on examples that are uniform over the positive half-space."""


class MissingCells(Struct, kw_only=True, omit_defaults=True):
    """The missing cells of a table."""

    cells: int
    """The number of missing cells."""

    rows_dropped: int
    """The number of rows that were left out."""

    treatment: Missing
    """The treatment of missing cells."""

    words: list[str] | None = None
    """The texts that `missing_values` declares missing cells."""


class MistakeBound(Struct, kw_only=True, omit_defaults=True):
    """A bound on the number of mistakes."""

    log2_mistakes_at_most: float
    """Binary logarithm of the bound."""

    mistakes_at_most: float | None = None
    """The bound; null outside the range of doubles."""


class MistakeBoundSweepExperiment(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="mistake-bound-sweep"):
    """Mistakes until the hypothesis equals the target."""

    name: ClassVar[Literal["mistake-bound-sweep"]] = "mistake-bound-sweep"

    params: MistakeBoundSweepSpec
    """Mistakes until the hypothesis equals the target."""


class MistakeBoundSweepExperimentRequest(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="mistake-bound-sweep"):
    """Mistakes until the hypothesis equals the target."""

    name: ClassVar[Literal["mistake-bound-sweep"]] = "mistake-bound-sweep"

    params: MistakeBoundSweepSpec | None = None
    """Mistakes until the hypothesis equals the target."""

    seed: int | None = None


class MistakeBoundSweepSpec(Struct, kw_only=True, omit_defaults=True):
    """Mistakes until the hypothesis equals the target, against the batch size. Without batch sizes the chart shows
    mistakes against n.
    """

    batch_sizes: list[int] | None = None
    """Batch sizes, in examples."""

    learners: list[str] | None = None
    """Learners with a parameter `batch_size` or with an exact analysis."""

    max_mistakes: int | None = None
    """Number of mistakes at which a run stops. The value of such a point is a lower bound."""

    n: list[int] | None = None
    """Numbers of features."""

    normalised_batch_sizes: list[float] | None = None
    """Batch sizes in units of (pi/2) n ln n examples. Give either these or `batch_sizes`."""

    runs: int | None = None
    """Number of runs per point."""


class Model(Struct, kw_only=True, omit_defaults=True):
    """A model with its hypothesis."""

    created_at: Timestamp

    id: ModelId

    job: JobId | None = None

    kind: str
    """Kind of hypothesis."""

    learner: str
    """Learner that found the hypothesis."""

    n: int
    """Features per example."""

    name: str | None = None

    classes: list[str] | None = None
    """The names of the classes, if the training data had names. Of two classes, the first has the label -1 and the
    second the label 1. A committee has one hypothesis per class, in this order.
    """

    data_sha256: str | None = None
    """The digest of the training data; null if they were generated."""

    examples: int
    """Examples read."""

    features: list[str] | None = None
    """The names of the features, if the training data had names of at most 1 MiB together, or an open vocabulary of
    any size.
    """

    first_index: int | None = None
    """The first index of the training data, 0 or 1, if they came as LIBSVM. Other LIBSVM data are read from it too."""

    held_out: int | None = None
    """Examples that were held out of the training; absent if none were."""

    hypothesis: HypothesisDocument
    """The hypothesis, with all data needed to predict."""

    learnt_from: Lineage | None = None
    """The data that the model and its ancestors learnt from; absent if nothing is known about them."""

    mistakes: int
    """Examples that the current hypothesis predicted wrongly."""

    one_against_rest: bool | None = None
    """Whether every label but the name of +1 has the label -1."""

    params: dict[str, Any]
    """Parameters of the learner, including defaults."""

    passes: int
    """Passes started."""

    seed: int
    """The seed of all random choices."""

    table: TableEncoding | None = None
    """The encoding of the table that the training data came as. Raw rows of such a table can be predicted."""

    updates: int
    """Mistakes that changed the hypothesis."""

    vocabulary: VocabularyKind | None = None
    """Whether the features are fixed; `fixed` when absent. With `open` they have the names in `features`, in the order
    of the bytes. A name that is not among them has the first weight of the learner.
    """

    warm_start: ModelId | None = None
    """The initial model of a warm start. The model may have been deleted."""

    format: str
    """Format of this document, `halfspace-model/1`. You can import the document."""

    sha256: str
    """Digest of learner, parameters, seed, data digest, counts and hypothesis. An import refuses an altered document.
    The digest is not a signature.
    """


class ModelDocument(Struct, kw_only=True, omit_defaults=True):
    """The part of a stored model that describes its training and its hypothesis."""

    classes: list[str] | None = None
    """The names of the classes, if the training data had names. Of two classes, the first has the label -1 and the
    second the label 1. A committee has one hypothesis per class, in this order.
    """

    data_sha256: str | None = None
    """The digest of the training data; null if they were generated."""

    examples: int
    """Examples read."""

    features: list[str] | None = None
    """The names of the features, if the training data had names of at most 1 MiB together, or an open vocabulary of
    any size.
    """

    first_index: int | None = None
    """The first index of the training data, 0 or 1, if they came as LIBSVM. Other LIBSVM data are read from it too."""

    held_out: int | None = None
    """Examples that were held out of the training; absent if none were."""

    hypothesis: HypothesisDocument
    """The hypothesis, with all data needed to predict."""

    learnt_from: Lineage | None = None
    """The data that the model and its ancestors learnt from; absent if nothing is known about them."""

    mistakes: int
    """Examples that the current hypothesis predicted wrongly."""

    one_against_rest: bool | None = None
    """Whether every label but the name of +1 has the label -1."""

    params: dict[str, Any]
    """Parameters of the learner, including defaults."""

    passes: int
    """Passes started."""

    seed: int
    """The seed of all random choices."""

    table: TableEncoding | None = None
    """The encoding of the table that the training data came as. Raw rows of such a table can be predicted."""

    updates: int
    """Mistakes that changed the hypothesis."""

    vocabulary: VocabularyKind | None = None
    """Whether the features are fixed; `fixed` when absent. With `open` they have the names in `features`, in the order
    of the bytes. A name that is not among them has the first weight of the learner.
    """

    warm_start: ModelId | None = None
    """The initial model of a warm start. The model may have been deleted."""


class ModelFile(Struct, kw_only=True, omit_defaults=True):
    """A model to import, in the form that `GET /v1/models/{id}` returns. The members `id`, `job` and `created_at` of
    the exported copy are ignored. You may change `name`.
    """

    classes: list[str] | None = None
    """The names of the classes. Of two, the first has the label -1 and the second the label 1."""

    created_at: Timestamp | None = None

    data_sha256: str | None = None
    """The digest of the training data; null if they were generated."""

    examples: int
    """Examples read."""

    features: list[str] | None = None
    """The names of the features."""

    first_index: int | None = None
    """The first index of the training data, 0 or 1, if they came as LIBSVM."""

    format: str
    """The format of the file: `halfspace-model/1`."""

    held_out: int | None = None
    """Examples that were held out of the training."""

    hypothesis: HypothesisDocument
    """The hypothesis, with all data needed to predict. It is parsed only after its kind is known."""

    id: ModelId | None = None

    job: JobId | None = None

    kind: str
    """The kind of the hypothesis."""

    learner: str
    """The learner or the task that found the hypothesis."""

    learnt_from: Lineage | None = None
    """The data that the model and its ancestors learnt from. A file proves nothing, so these data exclude claims and
    ground none.
    """

    mistakes: int
    """Examples that the current hypothesis predicted wrongly."""

    n: int
    """Number of features."""

    name: str | None = None
    """Free text."""

    one_against_rest: bool | None = None
    """Whether every label but the name of +1 has the label -1."""

    params: dict[str, Any]
    """Parameters of the learner."""

    passes: int
    """Passes started."""

    seed: SeedNumber
    """The seed of all random choices."""

    sha256: str
    """The digest from the export."""

    table: TableEncoding | None = None

    updates: int
    """Mistakes that changed the hypothesis."""

    vocabulary: VocabularyKind | None = None
    """Whether the features are fixed; `fixed` when absent."""

    warm_start: ModelId | None = None


class ModelItem(Struct, kw_only=True, omit_defaults=True):
    """A model in a list."""

    created_at: Timestamp

    id: ModelId

    job: JobId | None = None

    kind: str
    """Kind of hypothesis."""

    learner: str
    """Learner that found the hypothesis."""

    n: int
    """Features per example."""

    name: str | None = None


class ModelList(Struct, kw_only=True, omit_defaults=True):
    """A page of models, newest first."""

    items: list[ModelItem]

    next_cursor: str | None = None
    """Cursor of the next page; null on the last page."""


class MotzkinCertificate(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="motzkin"):
    """The same sum with a positive multiplier on a negative example. No separator exists in the service's convention
    (Motzkin).
    """

    kind: ClassVar[Literal["motzkin"]] = "motzkin"

    multipliers: list[MultiplierDocument]
    """The multipliers that are not 0."""


class MultiplierDocument(Struct, kw_only=True, omit_defaults=True):
    """The multiplier of one example."""

    example: int
    """Index of the example, from 0."""

    weight: str
    """A positive integer in decimal."""


class OctetsHint(Struct, kw_only=True, omit_defaults=True):
    """The size of a tensor that follows the JSON as octets."""

    binary_data_size: int
    """Bytes of the tensor after the JSON."""


class OutputParameters(Struct, kw_only=True, omit_defaults=True):
    """Parameters of an output tensor."""

    binary_data: bool | None = None
    """Whether this tensor follows the JSON as octets. Overrides `binary_data_output`."""

    content_type: ContentHint | None = None


class OutputTensor(Struct, kw_only=True, omit_defaults=True):
    """A tensor with one element per example."""

    data: list[Any] | None = None
    """The elements: numbers or texts. Absent if the tensor follows the JSON as octets."""

    datatype: str
    """INT8, INT32 or BYTES."""

    name: str

    parameters: OctetsHint | None = None

    shape: list[int]
    """The number of examples."""


class OwnUse(Struct, kw_only=True, omit_defaults=True):
    """Limits of one key, each with its use."""

    jobs_queued: Use
    """Waiting jobs."""

    sessions: Use
    """Sessions."""

    stored_bytes: Use
    """Stored bytes."""


class PackedData(Struct, kw_only=True, omit_defaults=True):
    """Bits of Boolean examples"""

    assume: Assume | None = None

    bit_order: Literal["big", "little"] | None = None

    labels: str | None = None

    n: int

    rows: str


class ParityTarget(Struct, kw_only=True, omit_defaults=True):
    """An odd number of the variables is 1"""

    size: int | None = None

    variables: list[int] | None = None


class Parts(Struct, kw_only=True, omit_defaults=True):
    """The parts of a job."""

    left: int
    """Number of parts that have not ended."""

    total: int
    """Number of parts."""


class PerceptronLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="perceptron"):
    """Perceptron"""

    name: ClassVar[Literal["perceptron"]] = "perceptron"

    params: dict[str, Any] | None = None


class PerspectronLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="perspectron"):
    """Perspectron"""

    name: ClassVar[Literal["perspectron"]] = "perspectron"

    params: dict[str, Any] | None = None


class PocketLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="pocket"):
    """Pocket"""

    name: ClassVar[Literal["pocket"]] = "pocket"

    params: dict[str, Any] | None = None


class Predictions(Struct, kw_only=True, omit_defaults=True):
    """Predictions of a model, one per example."""

    class_scores: list[list[NumberOrDecimal | None]] | None = None
    """The scores of all classes of each example, in the order of the classes. Only with `scores=all`, for more than
    two classes.
    """

    margins: list[NumberOrDecimal | None] | None = None
    """By how much the score of each predicted class exceeds the scores of all others, in the form of a score. Absent
    for two classes and without scores.
    """

    predicted_classes: list[str] | None = None
    """The names of the predicted classes. Null if the labels of the training had no names."""

    predictions: list[int]
    """1 or -1 of two classes; of more, the place of the class among the classes of the model, from 0."""

    ranking: list[list[RankedClass]] | None = None
    """The classes of each example with the largest scores, largest first and equal ones in the order of the classes.
    Only with `scores=top=K`, for more than two classes.
    """

    scores: list[NumberOrDecimal | None] | None = None
    """The exact scores of the predicted classes; null if none were asked for. A score is a whole number (a decimal
    string beyond 2^53), a fraction such as "2/3", or a number if the weights are real by definition. The score is
    null if such a sum overflows. The list is null if the answer would be too long with the scores.
    """

    table: TableEncoding | None = None
    """The encoding of the table in the body. Absent if the body is no table, or if the answer would be too long."""

    unseen: list[int] | None = None
    """How many active features of each example the model has never seen. Absent if it reads a fixed number of features
    and no line of LIBSVM has a larger index.
    """


class Preview(Struct, kw_only=True, omit_defaults=True):
    """The content of a body, without a stored dataset."""

    column_count: int | None = None
    """Number of columns in the table. Null if the data are no table."""

    columns: list[PreviewColumn] | None = None
    """The columns that `rows` shows, in the same order. Null if the data are no table."""

    delimiter: str | None = None
    """What stands between the fields, in the spelling of the option `delimiter`. Null if the data are no CSV."""

    header: bool | None = None
    """Whether the first row of the table holds names. Null if the data are no table."""

    label_values: list[LabelCount] | None = None
    """Values of the label with their numbers of rows, in the order of their first rows. Null if no label column is
    known, or if the column has more than 256 values.
    """

    names: list[str]
    """Names of the cells of each row. A row of a table has the first 1,000 columns and those of the labels and the
    weights. A row of other data has the label and the first 1,000 features. A name is cut like a cell.
    """

    row_count: int | None = None
    """Number of rows of the table that were read. Rows that were left out count too. Null if the data are no table."""

    rows: list[list[str]]
    """The first rows. Cells of a table are as written, without quotes and without blanks around. Other data are shown
    as numbers. A cell of more than 100 characters is cut and ends in `…`. The rows end early when their cells take
    1 MiB.
    """

    advice: list[FieldError]
    """What to change in data that would be stored, with repairs: columns that seem to name the rows."""

    data: PreviewData | None = None

    refusal: Refusal | None = None

    table: TableEncoding | None = None


class PreviewColumn(Struct, kw_only=True, omit_defaults=True):
    """A column of a table in a preview."""

    detail: str | None = None
    """Reason why the column cannot be read under the options."""

    distinct: int | None = None
    """Number of different texts in the cells that are not missing. Null if there are more than 256."""

    index: int
    """Number of the column in the file, from 1."""

    kind: KindName | None = None

    kinds: list[KindName]
    """Kinds that the option `kinds` accepts for the column while the other options stay. The labels and the weights
    have none. A column with words can also be `text`, and then all columns give names.
    """

    missing: int
    """Number of missing cells."""

    name: str
    """Name of the column. Without a row of names the third column is `column_3`."""

    role: ColumnRole
    """Use of the column."""


class PreviewContent(Struct, kw_only=True, omit_defaults=True):
    """The content of a body as a preview shows the content."""

    column_count: int | None = None
    """Number of columns in the table. Null if the data are no table."""

    columns: list[PreviewColumn] | None = None
    """The columns that `rows` shows, in the same order. Null if the data are no table."""

    delimiter: str | None = None
    """What stands between the fields, in the spelling of the option `delimiter`. Null if the data are no CSV."""

    header: bool | None = None
    """Whether the first row of the table holds names. Null if the data are no table."""

    label_values: list[LabelCount] | None = None
    """Values of the label with their numbers of rows, in the order of their first rows. Null if no label column is
    known, or if the column has more than 256 values.
    """

    names: list[str]
    """Names of the cells of each row. A row of a table has the first 1,000 columns and those of the labels and the
    weights. A row of other data has the label and the first 1,000 features. A name is cut like a cell.
    """

    row_count: int | None = None
    """Number of rows of the table that were read. Rows that were left out count too. Null if the data are no table."""

    rows: list[list[str]]
    """The first rows. Cells of a table are as written, without quotes and without blanks around. Other data are shown
    as numbers. A cell of more than 100 characters is cut and ends in `…`. The rows end early when their cells take
    1 MiB.
    """


class PreviewData(Struct, kw_only=True, omit_defaults=True):
    """The dataset that an upload would make."""

    assume: Assume | None = None

    class_examples: list[int] | None = None
    """Number of examples of each class, in the order of `classes`; of the labels -1 and 1 if these have no names. Null
    for unlabelled data.
    """

    contradictions: int | None = None
    """Distinct rows that appear with more than one label. Null without labels, or if contradictions were not counted."""

    duplicates: int | None = None
    """Examples that equal an earlier example, label included. Null if duplicates were not counted."""

    duplicates_detail: str | None = None
    """Reason why duplicates and contradictions were not counted."""

    examples: int
    """Number of examples."""

    kind: LabelsKind
    """Kind of the examples: `half-space` (every example is positive), `labelled` or `unlabelled`."""

    n: int
    """Features per example."""

    sha256: str
    """SHA-256 digest of the canonical rows. Equal data have the same digest in every format."""

    values: RowsKind
    """Kind of the features: `boolean` or `real`."""

    zero_bit_value: int | None = None
    """Value that was sent for a 0 bit: 0 or -1. Null for real data."""

    classes: list[str] | None = None
    """Names of the classes, if the labels come with names. Of two classes, the first has the label -1 and the second
    the label 1.
    """

    encoding_sha256: str | None = None
    """SHA-256 digest of the columns of the encoding. Tables with the same digest are encoded alike."""

    features: list[str] | None = None
    """Names of the first 1,000 features, if the data come with names. `n` counts all features."""

    first_index: int | None = None
    """First index of the data, 0 or 1, if they come as LIBSVM."""


class Problem(Struct, kw_only=True, omit_defaults=True):
    """An error response (RFC 9457)."""

    code: str
    """Name of the error, which never changes."""

    detail: str
    """Description of this occurrence."""

    error: str | None = None
    """Copy of `detail` below `/v2`, where clients of the Open Inference Protocol expect the description."""

    errors: list[FieldError]
    """Errors of the request, at most the first 20."""

    instance: str
    """Path of the request."""

    position: int | None = None
    """Position of the session. Present if the request expected another position, if the session has ended, or if a
    stream into the session ended early.
    """

    request_id: str
    """Id of the request, under which the log has more. The header `x-request-id` has the same id."""

    status: int
    """HTTP status."""

    title: str
    """Short summary, which is the same for every occurrence of the code."""

    type: str
    """URL of a page of this service that explains the code."""


class ProcessMemory(Struct, kw_only=True, omit_defaults=True):
    """The memory of a process for requests and jobs."""

    memory_bytes_free: int
    """Bytes of memory that one more job can have now."""

    memory_bytes_max: int
    """Bytes of memory for one request or job while no other request or job uses memory."""

    memory_bytes_taken: int
    """Bytes of memory that requests and jobs have reserved."""


class Progress(Struct, kw_only=True, omit_defaults=True):
    """The progress of a job."""

    bytes: int | None = None
    """Bytes that an import has read of its object."""

    bytes_total: int | None = None
    """Bytes of the object."""

    examples: int
    """Examples read, tested or consumed in a batch."""

    fraction: float | None = None
    """The finished share of the work, from 0 to 1, if known."""

    mistakes: int
    """Examples that the current hypothesis predicted wrongly."""

    passes: int
    """Passes started."""

    seconds_left: float | None = None
    """Estimated seconds until the end, at the speed so far; only for jobs with parts."""


class ProgressiveBound(Struct, kw_only=True, omit_defaults=True):
    """A bound on the mean error of the hypotheses of a run."""

    confidence: float

    mean_error_at_most: float
    """Upper limit of the mean error."""


class ProgressiveCertificate(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="progressive"):
    """The hypotheses of a run, each tested on the next fresh example."""

    assumes: list[Assume]
    """The declared or known facts about the examples that the statement needs."""

    confidence: float
    """Of all runs started like this, at most a share of 1 - confidence makes a wrong statement."""

    examples: int
    """Tested examples."""

    kind: ClassVar[Literal["progressive"]] = "progressive"

    mean_error_at_most: float
    """The upper limit of the mean error of the hypotheses in use."""

    mistakes: int
    """Wrong predictions."""

    source: str
    """The source of the proof."""

    statement: str
    """The statement as a sentence."""


class Queue(Struct, kw_only=True, omit_defaults=True):
    """The load of the queue."""

    parked: int
    """Jobs that have begun and yield to other jobs in their process."""

    queued: int
    """Jobs that wait for a worker. The parts of a job count instead of the job."""

    running: int
    """Jobs that a worker computes now."""

    oldest_age_seconds: float | None = None
    """Age of the oldest queued job; null if no job is queued."""

    owners: list[QueueOwner]
    """Keys with jobs in the queue, those with the most jobs first. The list has your own key and at most 99 others."""


class QueueOwner(Struct, kw_only=True, omit_defaults=True):
    """The jobs of one key in the queue."""

    parked: int
    """Jobs that have begun and yield to other jobs in their process."""

    queued: int
    """Jobs that wait for a worker. The parts of a job count instead of the job."""

    running: int
    """Jobs that a worker computes now."""

    own: bool
    """Whether this is your key."""

    owner: str | None = None
    """Id of your key, or `anonymous` on a service without keys. Null for another key."""

    virtual_seconds: float | None = None
    """Computed seconds of your key, divided by the weight. The key with the fewest goes first. A new key has a credit,
    so the number can be negative. Null for another key.
    """

    weight: float | None = None
    """Weight of your key; null for another key."""


class QueuePlace(Struct, kw_only=True, omit_defaults=True):
    """The place of a job in the queue."""

    ahead: int
    """Queued jobs of the same key that run before this job, counted up to 1,000."""

    not_before: Timestamp | None = None

    waits_for: WaitsFor
    """Reason why the job does not run yet: `about-to-start`, `back-off`, `memory`, `newer-worker`, `no-worker`,
    `other-jobs`, `storage-full` or `worker`.
    """


class RankedClass(Struct, kw_only=True, omit_defaults=True):
    """A class with its score."""

    class_: str = field(name="class")
    """The name of the class."""

    score: NumberOrDecimal | None = None


class Receipt(Struct, kw_only=True, omit_defaults=True):
    """The facts that reproduce a training, and the results to expect."""

    data: ReceiptData
    """The origin of the examples."""

    examples: int
    """The number of examples, held-out examples included."""

    generator: str
    """The name of the generator of the random choices: `xoshiro256++`."""

    holdout: ReceiptHoldout | None = None

    hypothesis_sha256: str
    """SHA-256 of the JSON text of the hypothesis without spaces, with the members of each object sorted by name."""

    learner: str
    """The learner."""

    members: list[ReceiptMember]
    """The rules of the run: one per class in the order of the classes, or the one for the positive of two classes that
    did not join.
    """

    mistakes: int
    """The total of wrong predictions in the run."""

    multiclass: Multiclass | None = None
    """How the members of a committee learn. Only for more than two classes."""

    open: bool | None = None
    """Whether the rule of each class joined when its first example was read. Absent if all were there from the start."""

    order: str
    """The order of the examples in a pass: `cyclic` or `shuffled`."""

    params: dict[str, Any]
    """Parameters of the learner, including defaults."""

    presented: int
    """The number of examples that the learner was shown in all passes. The replay ends there."""

    seed: int
    """The seed of all random choices."""

    sha256: str
    """SHA-256 of the JSON text of the other members without spaces, with the members of each object sorted by name."""

    training_errors: int | None = None
    """Wrong predictions of the hypothesis on the examples that the learner was shown; null if they were not counted."""

    version: int
    """The version of this form: 2."""


class ReceiptHoldout(Struct, kw_only=True, omit_defaults=True):
    """The held-out examples of a training."""

    errors: int | None = None
    """Wrong predictions of the hypothesis on these examples; null if they were not counted."""

    share: float
    """The share of the examples."""

    stratified: bool | None = None
    """Whether each class has its share of them. Absent if they are a random subset of all examples."""


class ReceiptMember(Struct, kw_only=True, omit_defaults=True):
    """A rule of a training, and the examples that repeat it."""

    class_: str = field(name="class")
    """The class whose examples are positive for the rule."""

    kept: list[int]
    """The rows of the examples from which it learnt, counted from 0 and ascending. If the rule joined, the row of its
    first example is among them.
    """

    mistakes: int
    """Wrong decisions of the rule. With `multiclass` = joint, the wrong predictions of the committee from which it
    learnt.
    """


class Recovery(Struct, kw_only=True, omit_defaults=True):
    """The comparison of the hypothesis with the hidden target of generated data. The signs of a linear hypothesis are
    compared.
    """

    distance: int
    """The number of coordinates in which they differ."""

    recovered: bool
    """Whether both are equal."""


class Refusal(Struct, kw_only=True, omit_defaults=True):
    """The problem that refuses the data of a preview. Each member equals that member of the problem."""

    code: str

    detail: str

    errors: list[FieldError]

    status: int

    title: str


class ReinforcedAmpLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="reinforced-amp"):
    """Reinforced AMP"""

    name: ClassVar[Literal["reinforced-amp"]] = "reinforced-amp"

    params: dict[str, Any] | None = None


class Repair(Struct, kw_only=True, omit_defaults=True):
    """Parameters that mend an error of data."""

    query: str
    """The parameters as a part of a URL, such as `labels=y&delimiter=%7C`. They replace those of the request, but
    `ignore`, `kinds` and `missing_values` add to them. Rows inside a JSON document have them as members instead.
    """

    sentence: str
    """What the parameters say about the data."""

    shape: DataShape | None


class RequestParameters(Struct, kw_only=True, omit_defaults=True):
    """Parameters of the request."""

    binary_data_output: bool | None = None
    """Whether the output tensors follow the JSON as octets."""

    content_type: ContentHint | None = None


class RequestedOutput(Struct, kw_only=True, omit_defaults=True):
    """A requested output tensor."""

    name: OutputName

    parameters: OutputParameters | None = None


class RowsReceiptData(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="rows"):
    """Stored or sent examples."""

    kind: ClassVar[Literal["rows"]] = "rows"

    sha256: str
    """The digest of the canonical rows."""


class RunLength(Struct, kw_only=True, omit_defaults=True):
    """A number of consecutive consistent examples."""

    run_length: int


class Sample(Struct, kw_only=True, omit_defaults=True):
    """A table to try."""

    classes: list[str]
    """Names of the classes."""

    columns: list[str]
    """Names of the columns with default parameters. The last column is the label."""

    description: str
    """The rows and the rule of the class."""

    learner: LearnerSpec
    """A learner that classifies the table with default parameters without errors."""

    n: int
    """Features per example of a dataset of the table with default parameters."""

    name: str
    """Name in requests."""

    options: dict[str, Any]
    """Options of data with which to upload the table, such as the kind of a column. Empty if the table needs none."""

    parameters: dict[str, Any]
    """Query parameters as a JSON Schema with defaults."""

    rows: int
    """Rows of the table with default parameters."""

    source: str
    """Origin of the definition."""

    title: str
    """Name for people."""

    train: str
    """Path and query of a training of `learner`. Send the table as the body of a POST request."""


class SampleComplexityExperiment(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="sample-complexity"):
    """The share of runs that find hidden binary weights exactly."""

    name: ClassVar[Literal["sample-complexity"]] = "sample-complexity"

    params: SampleComplexitySpec
    """The share of runs that find hidden binary weights exactly."""


class SampleComplexityExperimentRequest(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="sample-complexity"):
    """The share of runs that find hidden binary weights exactly."""

    name: ClassVar[Literal["sample-complexity"]] = "sample-complexity"

    params: SampleComplexitySpec | None = None
    """The share of runs that find hidden binary weights exactly."""

    seed: int | None = None


class SampleComplexitySpec(Struct, kw_only=True, omit_defaults=True):
    """The share of runs in which a learner finds the hidden binary weights exactly, against examples per dimension."""

    examples_per_dimension: list[float] | None = None
    """Examples per dimension."""

    learners: list[LearnerSpec] | None = None
    """Learners that answer with binary weights or with real weights. The signs of real weights are compared. Default:
    `[{"name":"directed-drift-sync","params":{}},{"name":"perceptron","params":{"bias":false}},{"name":"sbpi","param
    s":{}},{"name":"amp","params":{}},{"name":"auto","params":{}}]`.
    """

    max_passes: int | None = None
    """Passes after which a run stops. Learners that stop by confidence make one pass."""

    n: list[int] | None = None
    """Numbers of features."""

    runs: int | None = None
    """Number of runs per point."""


class SampleList(Struct, kw_only=True, omit_defaults=True):
    """All samples, on one page."""

    items: list[Sample]

    next_cursor: str | None = None
    """Always null, because the list has one page."""


class SavedModel(Struct, kw_only=True, omit_defaults=True):
    """A model saved from a session."""

    created_at: Timestamp

    id: ModelId
    """Id of the model."""

    kind: str
    """Kind of hypothesis."""

    learner: str
    """Learner that found the hypothesis."""

    n: int
    """Features per example."""

    name: str | None = None


class SbpiLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="sbpi"):
    """SBPI (belief-propagation-inspired perceptron)"""

    name: ClassVar[Literal["sbpi"]] = "sbpi"

    params: dict[str, Any] | None = None


class Scale(Struct, kw_only=True, omit_defaults=True):
    """The scale of a column of numbers: x becomes (x - offset) / divisor."""

    divisor: float
    """What divides the difference: the standard deviation, or the largest number less the smallest. It is 1 for a
    constant column.
    """

    offset: float
    """What is subtracted: the mean, or the smallest number."""


class SeparabilityRequest(Struct, kw_only=True, omit_defaults=True):
    """Decides whether a hyperplane separates the examples, with a certificate."""

    bias: bool | None = None
    """Whether the hyperplane may miss the origin."""

    convention: Convention | None = None
    """Condition for an example to be on the right side of the hyperplane."""

    data: Data

    max_seconds: float | None = None
    """Seconds of computing; 600 when absent."""

    reading: Reading | None = None

    seed: SeedNumber | None = None


class SeparabilityResult(Struct, kw_only=True, omit_defaults=True, tag_field="task", tag="separability"):
    """Whether a hyperplane separates the examples. The certificate was checked in integers."""

    certificate: CertificateDocument | None = None

    convention: Convention
    """The convention of the request."""

    detail: str | None = None
    """The reason why the question is undecided, or the basis of the proof."""

    seconds: float
    """Seconds of computing."""

    separable: bool | None = None
    """Null if a limit ended the computation."""

    task: ClassVar[Literal["separability"]] = "separability"


class SeparableFractionExperiment(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="separable-fraction"):
    """The share of random dichotomies that are separable."""

    name: ClassVar[Literal["separable-fraction"]] = "separable-fraction"

    params: SeparableFractionSpec
    """The share of random dichotomies that are separable."""


class SeparableFractionExperimentRequest(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="separable-fraction"):
    """The share of random dichotomies that are separable."""

    name: ClassVar[Literal["separable-fraction"]] = "separable-fraction"

    params: SeparableFractionSpec | None = None
    """The share of random dichotomies that are separable."""

    seed: int | None = None


class SeparableFractionSpec(Struct, kw_only=True, omit_defaults=True):
    """The share of random dichotomies that a hyperplane through the origin separates."""

    dimensions: list[int] | None = None
    """Numbers of dimensions."""

    points: Points | None = None
    """The distribution of the points."""

    points_per_dimension: list[float] | None = None
    """Points per dimension."""

    runs: int | None = None
    """Number of dichotomies per point of the grid."""


class SeparatorCertificate(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="separator"):
    """A hyperplane with every example on the right side."""

    bias: NumberOrDecimal | None = None

    kind: ClassVar[Literal["separator"]] = "separator"

    weights: list[NumberOrDecimal]
    """One integer per feature, as a decimal string from 2^53 on."""


class Session(Struct, kw_only=True, omit_defaults=True):
    """A session."""

    certificates: list[Certificate] | None = None
    """Proved statements about this answer. Each holds by itself with its confidence, and not all of them jointly."""

    certificates_withheld: list[WithheldCertificate] | None = None
    """The certificates that this answer lacks, with the reasons."""

    active: int | None = None
    """Largest number of names of an example, as the request declared it. Null if it declared none."""

    assume: Assume | None = None

    bound: BoundDocument | None = None

    bound_detail: str | None = None
    """Reason why there is no bound."""

    classes: list[str] | None = None
    """Names of the classes in the order of their hypotheses. Null if they have no names. Of open classes, those whose
    examples have come.
    """

    confidence_detail: str | None = None
    """Reason why the session claims no confidence now or at its end, or why the rule's own claim is incomplete."""

    created_at: Timestamp

    examples: int
    """Examples read: tested, or consumed in a batch."""

    features: list[str] | None = None
    """Names of an open vocabulary in the order of their bytes, which the hypothesis has, too. Null together with the
    hypothesis, and for a fixed number of features.
    """

    hypothesis: HypothesisDocument | None = None

    id: SessionId

    learner: SessionLearner

    mistakes: int
    """Tests that the hypothesis failed."""

    multiclass: Multiclass | None = None

    n: int
    """Features per example. With an open vocabulary, the number of names so far."""

    open: bool
    """Whether each class joins at its first example."""

    position: int
    """Position of the session: the number of examples learnt. The ETag has the same number."""

    run_length: int
    """Consistent examples since the last mistake."""

    seed: int
    """Seed of every random choice."""

    stop: StopSpec
    """Conditions under which the session ends."""

    stop_rule: SessionStopRule | None = None

    table: TableEncoding | None = None

    termination: TerminationDocument | None = None

    updates: int
    """Mistakes that changed the hypothesis."""

    values: RowsKind
    """Kind of the features."""

    vocabulary: VocabularyKind | None = None
    """Whether an example is a set of names. Absent for a fixed number of features."""


class SessionItem(Struct, kw_only=True, omit_defaults=True):
    """A session in a list."""

    created_at: Timestamp

    id: SessionId

    learner: str
    """Name of the learner."""

    mistakes: int
    """Tests that the hypothesis failed."""

    n: int
    """Features per example. With an open vocabulary, the number of names so far."""

    position: int
    """Number of examples learnt."""

    terminated: bool
    """Whether the session has ended and accepts no more examples."""

    written_at: Timestamp | None = None


class SessionLearner(Struct, kw_only=True, omit_defaults=True):
    """The learner of a session, with all defaults filled in."""

    name: str

    params: dict[str, Any]


class SessionList(Struct, kw_only=True, omit_defaults=True):
    """A page of sessions, newest first."""

    items: list[SessionItem]

    next_cursor: str | None = None
    """Cursor of the next page; null on the last page."""


class SessionRequest(Struct, kw_only=True, omit_defaults=True):
    """A session to open."""

    active: Positive | None = None

    assume: Assume | None = None

    classes: StatedClasses | None = None

    encoding: SessionEncoding | None = None

    extraction: Extraction | None = None

    learner: LearnerSpec

    multiclass: Multiclass | None = None

    n: Positive | None = None

    seed: SeedNumber | None = None

    stop: StopSpec | None = None
    """Conditions under which the session ends. A session has no limits on passes or time."""

    values: RowsKind | None = None

    vocabulary: VocabularyKind | None = None
    """Whether an example is a set of names, which may be new in any example."""


class SessionStopRule(Struct, kw_only=True, omit_defaults=True):
    """The confidence rule that can end a session."""

    confidence: float
    """Confidence at which the session ends."""

    rule: str
    """Name of the rule."""

    threshold: int | None = None
    """Consistent examples in a row that end the session at present. Null if no number of them does."""


class StatedColumn(Struct, kw_only=True, omit_defaults=True):
    """A column with features, as a request states the column."""

    cells: NamedCells | None = None
    """What the cells of a column of names are. A `nominal` cell gives the name `column=word`, a `number` is the value
    of the name of the column, a true `boolean` gives that name, and a `text` gives the names that the extraction
    finds in it.
    """

    kind: ColumnKindName
    """The kind of the column."""

    thresholds: list[float] | None = None
    """The thresholds of a thermometer column in ascending order. A bit tells whether the number is at least the
    threshold.
    """

    values: list[str] | None = None
    """The values of a nominal column in the order of the features, or of the bits 0 and 1 of a boolean column."""

    fill: str | None = None
    """The text for which a missing cell stands, if it stands for one."""

    missing: bool | None = None
    """Whether a missing cell has a feature of its own."""

    name: str
    """The name of the column."""

    scale: Scale | None = None
    """How the numbers of the column become its feature, unless they are the feature."""


class StatedLabel(Struct, kw_only=True, omit_defaults=True):
    """A label column, as a request states the column."""

    classes: list[str | None]
    """The values, one per class. Of two classes, the first has the label -1 and the second the label 1. If the first
    is null, it means every value that is not another class.
    """

    column: str
    """The name of the column."""


class StopSpec(Struct, kw_only=True, omit_defaults=True):
    """The stopping conditions of a training."""

    confidence: float | None = None
    """The confidence c at which the training stops, strictly between 0 and 1. Of all runs started like this, at most a
    share of 1 - c claims c and is wrong. This is not the share among the runs that stopped.
    """

    error: float | None = None
    """The largest error of the hypothesis at which the training stops, strictly between 0 and 1. This field asks for
    the rule `pac`. The confidence is 0.95 when absent.
    """

    max_examples: Positive | None = None

    max_mistakes: Positive | None = None

    max_passes: Positive | None = None

    max_seconds: float | None = None
    """Time limit in seconds of computing; 600 when absent. The time of interrupted attempts counts if the run resumed
    from them.
    """

    rule: StopRule | None = None


class StoppingThresholds(Struct, kw_only=True, omit_defaults=True):
    """Run lengths at which the stopping rules accept a hypothesis."""

    anytime: RunLength
    """Run length under `anytime`, for the hypothesis with the given number."""

    min_error: float
    """Smallest error of a wrong hypothesis."""

    per_hypothesis: RunLength
    """Run length under the rule of the paper."""


class SupportVector(Struct, kw_only=True, omit_defaults=True):
    """A mistake of the learner. The same example may occur several times."""

    ones: list[int] | None = None
    """The numbers of the features that are 1, from 0 and ascending, if they are few."""

    x: str | None = None
    """The bits of the example, one character per feature. Absent if `ones` lists them."""

    y: int
    """The label: 1 or -1."""


class SurvivalBound(Struct, kw_only=True, omit_defaults=True):
    """A bound on the error of a hypothesis that classified a run of fresh examples correctly."""

    confidence: float

    error_at_most: float
    """Upper limit of the error."""

    hypothesis: int

    run_length: int
    """Consistent examples: as asked, or the fewest that prove the error."""


class SurvivalCertificate(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="survival"):
    """A run of fresh examples that the hypothesis classified correctly."""

    assumes: list[Assume]
    """The declared or known facts about the examples that the statement needs."""

    confidence: float
    """Of all runs started like this, at most a share of 1 - confidence makes a wrong statement."""

    error_at_most: float
    """The upper limit of the error."""

    hypothesis: int
    """The number of the hypothesis: the mistakes and updates before it plus one."""

    kind: ClassVar[Literal["survival"]] = "survival"

    run_length: int
    """Examples since the last mistake or update."""

    source: str
    """The source of the proof."""

    statement: str
    """The statement as a sentence."""


class TableData(Struct, kw_only=True, omit_defaults=True):
    """Rows of a table. The other properties mean the same as the query parameters"""

    bins: int | None = None

    bit_order: str | None = None

    characters: str | None = None

    comment: str | None = None

    conjunctions: str | None = None

    dates: str | None = None

    decimal: str | None = None

    delimiter: str | None = None

    encoding: str | None = None

    first_index: str | None = None

    header: str | None = None

    ignore: str | None = None

    kinds: str | None = None

    label_threshold: str | None = None

    labels: str | None = None

    lower_case: str | None = None

    missing: str | None = None

    missing_values: str | None = None

    n: int | None = None

    numbers: str | None = None

    occurrences: str | None = None

    positive: str | None = None

    rows: list[Row]

    scale: str | None = None

    sheet: str | None = None

    unknown: str | None = None

    vocabulary: str | None = None

    weights: str | None = None

    window: str | None = None

    words: str | None = None


class TableEncoding(Struct, kw_only=True, omit_defaults=True):
    """How the columns of a table became features and labels."""

    columns: list[ColumnEncoding]
    """The columns with features, in the order of the file."""

    extraction: Extraction | None = None
    """The names that texts give, if there are texts or conjunctions."""

    header: bool
    """Whether the table had a row of names. Without names, columns are found by their number."""

    ignored: list[IgnoredColumn]
    """The columns without features."""

    label: LabelEncoding | None = None

    missing: MissingCells
    """The treatment and number of missing cells."""

    weights: WeightsColumn | None = None
    """The column with the weights of the examples, if the table has one. Tables that the encoding reads later need not
    have it.
    """


class Target(Struct, kw_only=True, omit_defaults=True):
    """The concept. Exactly one of the properties is present. Missing parts of the concept are drawn from the seed"""

    binary_weights: BinaryWeightsTarget | None = None

    disjunction: DisjunctionTarget | None = None

    dnf: DnfTarget | None = None

    parity: ParityTarget | None = None

    threshold: ThresholdTarget | None = None


class TensorMetadata(Struct, kw_only=True, omit_defaults=True):
    """The name, datatype and shape of a tensor."""

    datatype: str
    """For the input, the most suitable datatype. Other datatypes are accepted too."""

    name: str

    shape: list[int]
    """Dimensions of the tensor; -1 means any length."""


class TerminationDocument(Struct, kw_only=True, omit_defaults=True):
    """How and why a run ended."""

    confidence: float | None = None
    """The confidence c that the run ended at the target; null if there is no claim. Of all runs started like this, at
    most a share of 1 - c claims c and is wrong. This is not the share among the runs that stopped.
    """

    confidence_detail: str | None = None
    """The reason why there is no claimed confidence, or why the claim of the rule is incomplete."""

    detail: str | None = None
    """The limit that was reached, as a field of `stop` or a parameter, and further notes. Semicolons separate them."""

    per_hypothesis_confidence: float | None = None
    """The confidence of the paper, which is correct for one hypothesis fixed in advance; under `per-hypothesis` only."""

    reason: str
    """`confident`, `converged`, `consistent`, `exhausted`, `limit` or `cancelled`."""

    rule: str | None = None
    """The confidence rule that was in use."""

    run_length: int | None = None
    """Consistent examples since the last mistake."""

    threshold: int | None = None
    """The run length at which the hypothesis would be accepted."""


class TestSetCertificate(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="test-set"):
    """Errors on examples that the learner was not shown."""

    assumes: list[Assume]
    """The declared or known facts about the examples that the statement needs."""

    at_most: float
    """The one-sided upper limit of the error."""

    confidence: float
    """Of all runs started like this, at most a share of 1 - confidence makes a wrong statement."""

    error_rate: float
    """The share of wrong predictions."""

    errors: int
    """Examples with a wrong prediction."""

    examples: int
    """The number of examples."""

    high: float
    """The upper end of the two-sided interval of the error."""

    kind: ClassVar[Literal["test-set"]] = "test-set"

    low: float
    """The lower end of the two-sided interval of the error."""

    source: str
    """The source of the proof."""

    statement: str
    """The statement as a sentence."""


class TestSetLimits(Struct, kw_only=True, omit_defaults=True):
    """Confidence limits of an error. The one-sided limit and the two-sided interval each hold by themselves."""

    at_most: float
    """One-sided upper limit of the error."""

    confidence: float

    error_rate: float
    """Share of wrong predictions."""

    high: float
    """Upper end of the two-sided interval."""

    low: float
    """Lower end of the two-sided interval."""


class TheoremOne(Struct, kw_only=True, omit_defaults=True):
    """Bounds of Theorem 1 on the expected mistakes from any wrong start, without their O terms."""

    detail: str
    """Explanation of the two bounds."""

    log2_upper: float
    """Binary logarithm of the upper bound."""

    lower: float
    """alpha e^(beta n), alpha = 1.771866547, beta = 0.139232271."""

    lower_holds: bool
    """Whether the lower bound holds at this n without its O term."""

    upper: float | None = None
    """n^n / 2^n; null beyond the range of doubles."""

    upper_holds: bool
    """Whether the upper bound holds at this n without its O term."""


class TheoryCurve(Struct, kw_only=True, omit_defaults=True):
    """A curve predicted by theory."""

    beside: int | None = None
    """Index of the series that the curve predicts. The curve is drawn in the colour of that series."""

    label: str
    """The formula or theorem of the curve."""

    points: list[CurvePlace]
    """The points of the curve from left to right."""


class ThresholdTarget(Struct, kw_only=True, omit_defaults=True):
    """The weights of the active features add up to theta or more"""

    theta: int | None = None

    weights: list[int] | None = None


class Trace(Struct, kw_only=True, omit_defaults=True):
    """The mistake curve of a training. The stride doubles whenever the curve would exceed 10,000 points."""

    points: list[TracePoint]
    """The points of the curve. The last point is the end of the run."""

    stride: int
    """The curve keeps one of every `stride` mistakes."""


class TracePoint(Struct, kw_only=True, omit_defaults=True):
    """A point of the mistake curve."""

    examples: int
    """Examples read."""

    mistakes: int
    """Mistakes made."""


class TrainRequest(Struct, kw_only=True, omit_defaults=True):
    """Trains a learner on data."""

    class_weight: StatedClassWeights | None = None

    classes: StatedClasses | None = None

    data: Data

    discard: float | None = None
    """Share of the names, between 0 and 1, that the model drops in the end: those whose weights have the smallest
    magnitudes. With more than two classes, the largest weight of a name over all classes counts. As with
    `minimum_count`, the result has no bound, no receipt, and certificates from held-out examples only.
    """

    holdout: float | None = None
    """Share of the examples that the learner does not see, between 0 and 1. The seed selects a random subset of this
    share, rounded to whole examples. In the end the service counts the errors of the hypothesis on this subset. If
    the examples are independent, as `assume` declares and as generated examples are, the remaining examples are
    independent too. Confidence rules then hold as without a holdout.
    """

    learner: LearnerSpec

    minimum_count: Positive | None = None

    multiclass: Multiclass | None = None

    seed: SeedNumber | None = None

    stop: StopSpec | None = None

    stratify: bool | None = None
    """Whether each class has its share of the held-out examples, up to one example. At least one example of each class
    remains for the learner. The labels then fix how many examples of each class a part has, so the parts are no
    independent draws, and the result has no certificate that needs them.
    """

    trace: bool | None = None
    """Whether the job keeps its mistake curve."""

    warm_start: ModelId | None = None


class TrainResult(Struct, kw_only=True, omit_defaults=True, tag_field="task", tag="train"):
    """The result of a training."""

    certificates: list[Certificate] | None = None
    """Proved statements about this answer. Each holds by itself with its confidence, and not all of them jointly."""

    certificates_withheld: list[WithheldCertificate] | None = None
    """The certificates that this answer lacks, with the reasons."""

    best: BestDocument | None = None

    bound: BoundDocument | None = None

    bound_detail: str | None = None
    """The reason why there is no bound."""

    class_weight: dict[str, float] | None = None
    """The weights of the classes, by their names, if the request stated some. `balanced` weights follow from the
    examples that the learner was shown.
    """

    examples: int
    """Examples read, tested or consumed in a batch."""

    holdout: ErrorCount | None = None

    hypothesis: HypothesisDocument | None = None

    hypothesis_is: HypothesisIs
    """Whether `hypothesis` is the last or the best of the run."""

    members: list[CommitteeMember] | None = None
    """The members of a committee, one per class in the order of the classes. Absent for two classes. Every member
    learns whenever it takes an example of its class for another or the other way round, even if the committee is
    right, so the members together make at least as many mistakes as the committee.
    """

    mistakes: int
    """Examples that the current hypothesis predicted wrongly."""

    model: ModelId | None = None

    passes: int
    """Passes started, including the pass without a mistake."""

    seconds: float
    """Seconds of computing, including interrupted attempts that the run resumed from."""

    target: Recovery | None = None

    task: ClassVar[Literal["train"]] = "train"

    termination: TerminationDocument
    """How and why the run ended."""

    training: ErrorCount | None = None

    updates: int
    """Examples that changed the hypothesis: mistakes, or with more than two classes mistakes of a member."""


class UniqueCertificate(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="unique"):
    """A vector of binary weights that is consistent with all examples."""

    assumes: list[Assume]
    """The declared or known facts about the examples that the statement needs."""

    confidence: float
    """Of all runs started like this, at most a share of 1 - confidence makes a wrong statement."""

    examples: int
    """The number of examples."""

    kind: ClassVar[Literal["unique"]] = "unique"

    log10_doubt: float
    """The decimal logarithm of the bound on the probability that another vector is consistent."""

    sampling: Assume
    """The distribution of the examples."""

    source: str
    """The source of the proof."""

    statement: str
    """The statement as a sentence."""


class UniquenessBound(Struct, kw_only=True, omit_defaults=True):
    """A bound on the probability that a consistent vector of binary weights is not the target."""

    confidence: float
    """One minus the doubt, or 0 if the bound says nothing."""

    examples: int
    """Number of examples: as asked, or the fewest that give the confidence."""

    log10_doubt: float
    """Decimal logarithm of the bound on the probability that another vector is consistent."""


class UnlabelledData(Struct, kw_only=True, omit_defaults=True):
    """Examples without labels"""

    examples: list[Features]


class Use(Struct, kw_only=True, omit_defaults=True):
    """A limit and its use."""

    max: int

    used: int
    """Current use. The use may exceed `max`, because the results of an accepted job are always stored."""


class Version(Struct, kw_only=True, omit_defaults=True):
    """Name and version of the service."""

    name: str

    revision: str | None = None
    """Git revision of the sources. The suffix `-dirty` marks sources with changes beyond that revision. Null if the
    build did not know the revision.
    """

    version: str


class VersionSpaceRequest(Struct, kw_only=True, omit_defaults=True):
    """Finds all weights in {-1, +1} that agree with the examples."""

    data: Data

    list: int | None = None
    """Largest number of weight vectors in the result; 100 when absent."""

    max_seconds: float | None = None
    """Seconds of computing; 600 when absent."""

    seed: SeedNumber | None = None


class VersionSpaceResult(Struct, kw_only=True, omit_defaults=True, tag_field="task", tag="version_space"):
    """All binary weights that agree with the examples."""

    count: str | None = None
    """The number of weight vectors, in decimal; null if the number is unknown."""

    detail: str | None = None
    """The reason why the count is unknown."""

    exclusion: WeightsExclusion | None = None

    hypotheses: list[str]
    """The first weight vectors in ascending order, one bit per weight."""

    seconds: float
    """Seconds of computing."""

    task: ClassVar[Literal["version_space"]] = "version_space"

    unique: bool | None = None
    """Whether there is exactly one weight vector; null if the number is unknown."""


class WeightsColumn(Struct, kw_only=True, omit_defaults=True):
    """The column of a table that holds the weights of the examples."""

    column: str
    """The name of the column."""

    index: int
    """The number of the column in the file, from 1."""


class WeightsExclusion(Struct, kw_only=True, omit_defaults=True):
    """A proof that no binary weights agree with the examples.

    Let u_i be example i with the bits as -1 and +1, and negated if the label is negative. Let b_i be 1 for odd n.
    For even n, b_i is 2 for a negative example and 0 for a positive one. Binary weights w that agree with the
    examples have w.u_i >= b_i. The multipliers y_i have sum y_i b_i > |sum y_i u_i|_1, so there is no such w.
    """

    excludes_real_weights: bool
    """Whether the right side is 0. The proof then excludes every hyperplane through the origin too."""

    multipliers: list[MultiplierDocument]
    """The multipliers that are not 0."""


class WinnowHypothesis(Struct, kw_only=True, omit_defaults=True, tag_field="kind", tag="winnow"):
    """Prediction +1 iff the sum of alpha^exponent over the active features is >= theta."""

    alpha: NumberOrDecimal
    """The base of the weights, above 1. A string if no double equals the decimal."""

    exponents: list[int]
    """One integer per feature. The exponents of complements follow all others."""

    kind: ClassVar[Literal["winnow"]] = "winnow"

    n: int
    """Number of features without the complements."""

    negated_literals: bool
    """Whether the complement of each feature is a feature too."""

    theta: str
    """The threshold as a plain decimal."""

    unseen_weight: int | None = None
    """The weight of a name that the model does not list: 1 when absent, and 0 if the training left names out."""


class WinnowLearner(Struct, kw_only=True, omit_defaults=True, tag_field="name", tag="winnow"):
    """Winnow"""

    name: ClassVar[Literal["winnow"]] = "winnow"

    params: dict[str, Any] | None = None


class WithheldCertificate(Struct, kw_only=True, omit_defaults=True):
    """A certificate that an answer lacks."""

    kind: CertificateKind
    """The kind of the certificate."""

    reason: str
    """The missing or contradicted assumption."""


class Worker(Struct, kw_only=True, omit_defaults=True):
    """A live process of the service."""

    memory_bytes_free: int
    """Bytes of memory that one more job can have now."""

    memory_bytes_max: int
    """Bytes of memory for one request or job while no other request or job uses memory."""

    memory_bytes_taken: int
    """Bytes of memory that requests and jobs have reserved."""

    alone: bool
    """Whether a job computes alone, because processes died while they computed the job. The other jobs of the process
    are parked.
    """

    id: str
    """Name of the process, drawn at random at each start."""

    parked: int
    """Jobs of the process that have yielded to other jobs."""

    revision: str | None = None
    """Git revision of the sources; null if the build did not know the revision."""

    role: Role

    running: int
    """Jobs that the process computes now. A job that is computed before it is stored does not count."""

    seen_at: Timestamp
    """Time of the last report by the clock of the database. A process reports every 5 seconds or so. A process without
    a report for 60 seconds is not listed.
    """

    spec_schema: int
    """Newest schema of stored jobs that the process reads. The process does not claim jobs of a newer schema."""

    started_at: Timestamp
    """Start of the process by the clock of the database."""

    version: str

    workers: int
    """Number of jobs that the process computes at once; 0 in the role `api`."""


class WorkerList(Struct, kw_only=True, omit_defaults=True):
    """The live processes of the service, on one page."""

    items: list[Worker]

    next_cursor: str | None = None
    """Always null, because the list has one page."""


class WrongDocument(Struct, kw_only=True, omit_defaults=True):
    """An example with a wrong prediction."""

    index: int
    """Index of the example in the data, from 0."""

    label: int
    """The label: 1 or -1 of two classes, or the place in `classes` from 0 of more."""

    prediction: int
    """The prediction in the same form."""

    score: NumberOrDecimal | None = None


Assume: TypeAlias = Literal["independent", "uniform-positive", "reflected", "uniform"]
"""The declared origin of examples. The examples must be fresh and independent draws of one distribution."""

AxisScale: TypeAlias = Literal["linear", "logarithmic"]
"""The scale of an axis."""

CallbackState: TypeAlias = Literal["pending", "delivered", "given-up"]
"""The state of a callback."""

Certificate: TypeAlias = Union[CompressionCertificate, ProgressiveCertificate, SurvivalCertificate, TestSetCertificate, UniqueCertificate]
"""A proved statement about an answer."""

CertificateDocument: TypeAlias = Union[GordanCertificate, MotzkinCertificate, SeparatorCertificate]
"""A proof that a sample is separable or that it is not."""

CertificateKind: TypeAlias = Literal["test-set", "survival", "progressive", "unique", "compression"]
"""A kind of certificate."""

ColumnKindName: TypeAlias = Literal["boolean", "nominal", "number", "thermometer", "names"]

ColumnRole: TypeAlias = Literal["feature", "label", "weights", "ignored"]
"""The use of a column."""

Conjunctions: TypeAlias = Literal["all", "monotone"]
"""All conjunctions, or those without negated literals."""

ContentHint: TypeAlias = Literal["np"]
"""The array type that a client makes of tensors."""

Convention: TypeAlias = Literal["strict", "service"]
"""The scores that count as the right side of a hyperplane."""

CoverageDistribution: TypeAlias = Literal["uniform", "biased", "skewed"]
"""The distribution of the examples."""

CoveredClaim: TypeAlias = Literal["test-set", "survival", "progressive", "unique", "compression", "pac"]
"""A certificate under test."""

DatasetId: TypeAlias = str

Datatype: TypeAlias = Literal["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP32", "FP64"]
"""Datatype of the elements of a tensor."""

DatePart: TypeAlias = Literal["year", "month", "day", "weekday", "hour"]
"""A number that a date gives."""

ExampleLabel: TypeAlias = Union[int, str]
"""The label of an example."""

ExperimentRequest: TypeAlias = Union[CertificateCoverageExperimentRequest, FalseStopRateExperimentRequest, MistakeBoundSweepExperimentRequest, SampleComplexityExperimentRequest, SeparableFractionExperimentRequest]
"""An experiment, its parameters and its seed"""

ExperimentSpec: TypeAlias = Union[CertificateCoverageExperiment, FalseStopRateExperiment, MistakeBoundSweepExperiment, SampleComplexityExperiment, SeparableFractionExperiment]
"""An experiment and its parameters. Missing parameters take their defaults."""

Features: TypeAlias = Any
"""The features of an example: a bit string with one character per feature, a list of numbers, or names. Numbers that
are all 0/1 or all -1/1 are Boolean; other numbers are real. Names are a list of the active ones in any order, or an
object with their values, in which a text is a part of the name: `"w": "the"` is the feature `w=the`
"""

HalfSpaceAssume: TypeAlias = Literal["independent", "uniform-positive", "reflected"]

HypothesisDocument: TypeAlias = Union[BinaryWeightsHypothesis, BoundedHypothesis, CommitteeHypothesis, KernelHypothesis, KernelWinnowHypothesis, LinearHypothesis, WinnowHypothesis]
"""A hypothesis. The member `kind` determines the other members."""

HypothesisIs: TypeAlias = Literal["last", "best"]
"""The hypothesis of the run that a result reports."""

InitialWeights: TypeAlias = float | list[float]
"""One number for all weights, or a list"""

InputName: TypeAlias = Literal["x"]
"""Names of input tensors."""

JobId: TypeAlias = str

JobResult: TypeAlias = Union[CompareResult, EvaluateResult, ExperimentResult, ExperimentPartResult, GridResult, ImportResult, MaximumMarginResult, SeparabilityResult, TrainResult, VersionSpaceResult]
"""The result of a job. The form depends on the task."""

KindName: TypeAlias = Literal["boolean", "nominal", "number", "date", "text", "ignored"]
"""A kind that a request states for a column."""

Label: TypeAlias = Union[float, str, bool]
"""1 if the example is positive, otherwise 0 or -1. For a model or a session: the name of a class"""

LabelledAssume: TypeAlias = Literal["independent", "uniform"]

LabelsKind: TypeAlias = Literal["half-space", "labelled", "unlabelled"]
"""Kind of the labels."""

LearnerSpec: TypeAlias = Union[AmpLearner, AutoLearner, AveragedPerceptronLearner, BoundedPerceptronLearner, ClippedPerceptronLearner, DirectedDriftLearner, DirectedDriftAsyncLearner, DirectedDriftSyncLearner, FocusingBpLearner, KernelPerceptronLearner, KernelWinnowLearner, PerceptronLearner, PerspectronLearner, PocketLearner, ReinforcedAmpLearner, SbpiLearner, WinnowLearner]
"""A learner and its parameters"""

Missing: TypeAlias = Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator", "absent"]
"""The treatment of missing cells."""

ModelId: TypeAlias = str

ModelVersion: TypeAlias = Literal["1"]
"""A version of a model."""

Multiclass: TypeAlias = Literal["one-vs-rest", "joint"]
"""How the members of a committee learn."""

NamedCells: TypeAlias = Literal["nominal", "number", "boolean", "text"]
"""What the cells of a column are, if they give names."""

NumberOrDecimal: TypeAlias = Union[float, str]
"""A number, or a decimal string in place of a number that readers would round."""

Occurrences: TypeAlias = Literal["presence", "counts"]
"""The value of a name that a text gives."""

Octets: TypeAlias = str
"""A binary body."""

OutputName: TypeAlias = Literal["prediction", "score", "class"]
"""Names of output tensors."""

Points: TypeAlias = Literal["normal", "signs"]
"""The distribution of the points."""

Positive: TypeAlias = int

Priority: TypeAlias = int
"""The priority of a job among the jobs of one client, from -10 to 10. The default is 0."""

Reading: TypeAlias = Literal["signed", "unsigned"]
"""The values of the bits of a Boolean example."""

ReceiptData: TypeAlias = Union[GeneratedReceiptData, RowsReceiptData]
"""The origin of the examples of a training."""

Role: TypeAlias = Literal["all", "api", "worker"]
"""The role of a process."""

Row: TypeAlias = dict[str, Any]
"""A row of a table: one member per column"""

RowsKind: TypeAlias = Literal["boolean", "real"]
"""Kind of the features."""

SeedNumber: TypeAlias = int

SeriesForm: TypeAlias = Literal["marked", "line", "points", "step"]
"""How the points of a series are drawn."""

SessionEncoding: TypeAlias = str | dict[str, Any]
"""The encoding of the rows of a session."""

SessionId: TypeAlias = str

StatedClassWeights: TypeAlias = str | dict[str, float]

StatedClasses: TypeAlias = list[str] | str

Status: TypeAlias = Literal["queued", "running", "succeeded", "failed", "cancelled"]
"""The status of a job."""

StopRule: TypeAlias = Literal["anytime", "per-hypothesis", "exact", "pac"]
"""The rule that may end a run before the end of its data."""

TensorItem: TypeAlias = float | bool | list[Any]
"""A number, or a row of numbers. A BOOL is true, false, 1 or 0."""

TermWeight: TypeAlias = Union[float, str]
"""The weight of a term."""

TextVersion: TypeAlias = Literal["text/1"]
"""A version of the extraction, which models keep."""

Timestamp: TypeAlias = str

VocabularyKind: TypeAlias = Literal["fixed", "open"]
"""Whether the features of data are fixed."""

WaitsFor: TypeAlias = Literal["about-to-start", "back-off", "memory", "newer-worker", "no-worker", "other-jobs", "storage-full", "worker"]
"""The reason why a queued job does not run yet."""

Written: TypeAlias = Literal["percent", "thousands", "dmy", "mdy"]
"""How a table writes the numbers of a column."""
