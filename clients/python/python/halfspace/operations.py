"""One method per operation of the document. `generate.py` wrote this file."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from . import types
from .requests import Call, Content, segment

T = TypeVar("T")


class Operations:
    """The operations of a service."""

    def _send(self, call: Call, answer: type[T]) -> T:
        raise NotImplementedError

    def check_liveness(self) -> types.Health:
        """Reports that the process answers requests.

        The answer does not depend on the database, and a thread of its own gives it. The status is `stalled` while
        another thread of the process has been held up for 2 seconds. After 30 seconds the answer is a problem, so
        that an orchestrator restarts the process.
        """
        return self._send(Call("GET", "/livez", accept="application/json"), types.Health)

    def get_metrics(self) -> bytes:
        """Returns the metrics of the process in the text format of Prometheus.

        Each process counts its own requests and jobs.
        """
        return self._send(Call("GET", "/metrics", accept="text/plain"), bytes)

    def get_openapi_document(self) -> dict[str, Any]:
        """Returns this document.

        The schemas contain the limits in force.
        """
        return self._send(Call("GET", "/openapi.json", accept="application/json"), dict[str, Any])

    def list_problem_pages(self) -> bytes:
        """Lists all error codes on an HTML page.

        Each code has a page of its own.
        """
        return self._send(Call("GET", "/problems", accept="text/html"), bytes)

    def get_problem_page(self, code: str) -> bytes:
        """Explains an error code on an HTML page.

        The `type` of a problem is the path of this page.
        """
        return self._send(Call("GET", f"/problems/{segment(code)}", accept="text/html"), bytes)

    def check_readiness(self) -> types.Health:
        """Reports whether the service can handle requests now.

        A service is not ready while it is stopping, or while the store does not answer.
        """
        return self._send(Call("GET", "/readyz", accept="application/json"), types.Health)

    def construct_kernel_perceptron_adversary(self, body: types.AdversaryRequest) -> types.AdversaryAnswer:
        """Builds the sequence on which the monotone kernel perceptron errs every time (Theorem 4).

        With `store`, the service stores the sequence as a dataset and the answer has status 201.
        """
        return self._send(Call("POST", "/v1/constructions/kernel-perceptron-adversary", accept="application/json", body=body, creates=True), types.AdversaryAnswer)

    def construct_monotone_cnf(self, body: types.CnfRequest) -> types.CnfAnswer:
        """Builds a monotone CNF with a given number of satisfying assignments (Lemma 8).

        Each clause has two variables, which may be equal.
        """
        return self._send(Call("POST", "/v1/constructions/monotone-cnf", accept="application/json", body=body), types.CnfAnswer)

    def construct_winnow_counting(self, body: types.CountingRequest) -> types.CountingAnswer:
        """Builds the sequence with which kernel Winnow counts a formula's satisfying assignments (Theorem 7).

        After training on the sequence, the prediction for the `query` example answers the question.
        """
        return self._send(Call("POST", "/v1/constructions/winnow-counting", accept="application/json", body=body, creates=True), types.CountingAnswer)

    def list_datasets(self, *, limit: int | None = None, cursor: str | None = None) -> types.DatasetList:
        """Lists the datasets, newest first, without the names of their features.

        A page has `limit` items. Send `next_cursor` of the answer as `cursor` to get the next page.
        """
        return self._send(Call("GET", "/v1/datasets", accept="application/json", query={"limit": limit, "cursor": cursor}), types.DatasetList)

    def create_dataset(self, body: types.DatasetRequest | Content, *, name: str | None = None, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, assume: Literal["independent", "uniform-positive", "reflected", "uniform"] | None = None) -> types.Dataset:
        """Stores data as a dataset, so that jobs can read the data by the id of the dataset.

        A JSON body contains the name and the data. In any other format the body is the data, and the query contains
        the rest. Examples without labels are half-space examples, unless a JSON body calls them `unlabelled`.
        """
        return self._send(Call("POST", "/v1/datasets", accept="application/json", query={"name": name, "labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "assume": assume}, body=body, creates=True), types.Dataset)

    def import_dataset(self, body: types.DatasetSource, *, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, assume: Literal["independent", "uniform-positive", "reflected", "uniform"] | None = None, prefer: str | None = None) -> types.Job:
        """Stores an object of a bucket as a dataset, in a job.

        The query has the options of the data, as for an upload. The operator allows prefixes of buckets with
        `--sources`; nothing else is fetched. The job reads the version of the object that this request saw, and its
        result names the dataset. With `Prefer: wait=S` the answer waits up to S seconds for the end of the job.
        """
        return self._send(Call("POST", "/v1/datasets/import", accept="application/json", query={"labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "assume": assume}, header={"Prefer": prefer}, body=body, creates=True), types.Job)

    def delete_dataset(self, id: str) -> None:
        """Deletes a dataset, unless a job that has not ended reads the dataset.

        Models that were trained on the dataset stay.
        """
        return self._send(Call("DELETE", f"/v1/datasets/{segment(id)}", accept="application/problem+json"), type(None))

    def get_dataset(self, id: str) -> types.Dataset:
        """Returns a dataset without the examples.

        The answer has the names of the features and of the labels. Read the examples with `GET
        /v1/datasets/{id}/examples`.
        """
        return self._send(Call("GET", f"/v1/datasets/{segment(id)}", accept="application/json"), types.Dataset)

    def encode_dataset(self, id: str, *, name: str | None = None, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, assume: Literal["independent", "uniform-positive", "reflected", "uniform"] | None = None) -> types.Dataset:
        """Encodes the table of a dataset again, and stores it as a new dataset.

        The result is that of an upload of the same file with these options, except that numbers before the first
        cell that is no number have lost their spelling. Without `labels`, the labels stay where they are, and a
        declared distribution stays. All other options of the upload are gone: state them again.
        """
        return self._send(Call("POST", f"/v1/datasets/{segment(id)}/encode", accept="application/json", query={"name": name, "labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "assume": assume}, creates=True), types.Dataset)

    def list_dataset_examples(self, id: str, *, offset: int | None = None, limit: int | None = None, format: Literal["json", "ndjson", "csv", "libsvm", "vw"] | None = None) -> types.ExamplePage:
        """Returns a page of the examples of a dataset in stored order.

        `Accept` or `format` selects the format. CSV has the names of the classes. The other formats have the labels
        1 and -1, unless a class is named by a number: then they have the names too, because a 1 could mean either.

        You can upload an answer in a line format again and get the same data. In CSV and LIBSVM the label comes
        first, so upload CSV with `labels=first`. CSV has a row of names if the features have names; upload such a
        page with `labels=first&header=true`. Upload CSV or LIBSVM without labels with `labels=none`. LIBSVM omits
        zeros, so also pass `n`. `text/x-vw` lists names, so it needs an open vocabulary.
        """
        return self._send(Call("GET", f"/v1/datasets/{segment(id)}/examples", accept="application/json", query={"offset": offset, "limit": limit, "format": format}), types.ExamplePage)

    def list_figures(self) -> types.FigureList:
        """Lists the ready-made figures.

        Each figure is an experiment with fixed parameters. Run a figure with `POST /v1/experiments/{figure}`.
        """
        return self._send(Call("GET", "/v1/experiments", accept="application/json"), types.FigureList)

    def run_figure(self, figure: str, body: types.FigureRequest | None = None, *, prefer: str | None = None) -> types.Job:
        """Runs the experiment behind a ready-made figure as a job.

        Without a body, the figure runs with the parameters in the list. With `Prefer: wait=S` the answer waits up
        to S seconds for the end of the job.
        """
        return self._send(Call("POST", f"/v1/experiments/{segment(figure)}", accept="application/json", header={"Prefer": prefer}, body=body, creates=True), types.Job)

    def draw_figure(self, body: types.Drawing) -> bytes:
        """Draws a figure.

        The body describes a chart, bars or heat maps. The result of an experiment is a chart, which you can send as
        it is or with another title. Equal figures give equal bytes. Neither the body nor the picture may take more
        than `answer_bytes_max` bytes.
        """
        return self._send(Call("POST", "/v1/figures", accept="image/svg+xml", body=body), bytes)

    def list_jobs(self, *, limit: int | None = None, cursor: str | None = None, status: Literal["queued", "running", "succeeded", "failed", "cancelled"] | None = None, task: str | None = None, learner: str | None = None, parent: types.JobId | None = None) -> types.JobList:
        """Lists the jobs, newest first.

        The parts of a job are listed only with `parent`. Send `next_cursor` of the answer as `cursor` to get the
        next page. The parts of results that may be long are null in lists: hypotheses, certificates of separability
        and support vectors. A result with more than 64 KiB besides these parts is null as a whole.
        """
        return self._send(Call("GET", "/v1/jobs", accept="application/json", query={"limit": limit, "cursor": cursor, "status": status, "task": task, "learner": learner, "parent": parent}), types.JobList)

    def create_job(self, body: types.JobRequest, *, prefer: str | None = None) -> types.Job:
        """Submits a job.

        The body holds exactly one task with its data. The service stores the job before the answer. With `Prefer:
        wait=S` the answer waits up to S seconds for the end of the job.
        """
        return self._send(Call("POST", "/v1/jobs", accept="application/json", header={"Prefer": prefer}, body=body, creates=True), types.Job)

    def cancel_jobs(self, body: types.JobIds) -> types.JobOutcomes:
        """Cancels several jobs.

        Each job ends as if you had cancelled it alone; a job that you cancelled before is no error. The answer
        tells for each id what became of it, so look for a `refusal`. You can safely repeat the request.
        """
        return self._send(Call("POST", "/v1/jobs/cancel", accept="application/json", body=body), types.JobOutcomes)

    def delete_jobs(self, body: types.JobIds) -> types.JobOutcomes:
        """Deletes several ended jobs. Their models stay.

        The answer tells for each id what became of it. A job that has not ended is refused; cancel it first. After
        a repeated request, the jobs that the first one deleted are refused as `not-found`.
        """
        return self._send(Call("POST", "/v1/jobs/delete", accept="application/json", body=body), types.JobOutcomes)

    def delete_job(self, id: str) -> None:
        """Deletes an ended job. The model of the job stays.

        Cancel a job that has not ended before you delete the job.
        """
        return self._send(Call("DELETE", f"/v1/jobs/{segment(id)}", accept="application/problem+json"), type(None))

    def get_job(self, id: str, *, prefer: str | None = None) -> types.Job:
        """Returns a job.

        The document contains the status, the progress and, after the end, the result. With `Prefer: wait=S` the
        answer waits up to S seconds for the end of the job.
        """
        return self._send(Call("GET", f"/v1/jobs/{segment(id)}", accept="application/json", header={"Prefer": prefer}), types.Job)

    def cancel_job(self, id: str) -> types.Job:
        """Requests the end of a job. The hypothesis learnt so far is kept.

        A running job ends shortly after the answer. A repeated request changes nothing.
        """
        return self._send(Call("POST", f"/v1/jobs/{segment(id)}/cancel", accept="application/json"), types.Job)

    def follow_job(self, id: str, *, last_event_id: int | None = None) -> bytes:
        """Streams the events of a job: `status`, `progress` and finally `result`. Each event has an id.

        Send `Last-Event-ID` to resume after that event. The stream ends after the `result` event. The stream also
        ends when the service stops; then reconnect. One key may follow as many jobs at once as `event_streams_max`
        leaves it.
        """
        return self._send(Call("GET", f"/v1/jobs/{segment(id)}/events", accept="text/event-stream", header={"Last-Event-ID": last_event_id}), bytes)

    def get_job_figure(self, id: str, *, format: Literal["json", "svg", "csv"] | None = None) -> types.JobResult:
        """Returns the outcome of an experiment or of a comparison as a picture, a table or a document.

        `Accept` or `format` selects the format. While the job runs, the outcome contains the parts that have ended.
        """
        return self._send(Call("GET", f"/v1/jobs/{segment(id)}/figure", accept="application/json", query={"format": format}), types.JobResult)  # type: ignore[arg-type]

    def get_job_trace(self, id: str, *, format: Literal["json", "svg", "csv"] | None = None) -> types.Trace:
        """Returns the mistake curve of a training as JSON, CSV or an SVG picture.

        `Accept` or `format` selects the format. The picture also shows the bound of a theorem on the mistakes, if
        one applies to the run.
        """
        return self._send(Call("GET", f"/v1/jobs/{segment(id)}/trace", accept="application/json", query={"format": format}), types.Trace)

    def list_learners(self, *, dataset: types.DatasetId | None = None) -> types.LearnerList:
        """Lists all learners.

        Each entry names the accepted data, the parameters and stop conditions with their defaults, and the proved
        guarantee. With `dataset` each entry also tells whether the learner can learn from the dataset, and the
        reason if the learner cannot.
        """
        return self._send(Call("GET", "/v1/learners", accept="application/json", query={"dataset": dataset}), types.LearnerList)

    def get_learner(self, name: str) -> types.Learner:
        """Returns one learner.

        The entry names the accepted data, the parameters with their defaults, and the proved guarantee.
        """
        return self._send(Call("GET", f"/v1/learners/{segment(name)}", accept="application/json"), types.Learner)

    def train_learner(self, name: str, body: types.Data | Content, *, prefer: str | None = None, assume: Literal["independent", "uniform-positive", "reflected", "uniform"] | None = None, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, seed: types.SeedNumber | None = None, class_weight: types.StatedClassWeights | None = None, classes: types.StatedClasses | None = None, discard: float | None = None, holdout: float | None = None, minimum_count: types.Positive | None = None, multiclass: types.Multiclass | None = None, stratify: bool | None = None, trace: bool | None = None, warm_start: types.ModelId | None = None, stop_confidence: float | None = None, stop_error: float | None = None, stop_max_examples: types.Positive | None = None, stop_max_mistakes: types.Positive | None = None, stop_max_passes: types.Positive | None = None, stop_max_seconds: float | None = None, stop_rule: types.StopRule | None = None, callback: str | None = None, name_: str | None = None, priority: int | None = None, params_initial: str | None = None, params_batch_size: int | None = None, params_reading: Literal["signed", "unsigned"] | None = None, params_bias: bool | None = None, params_eta: float | None = None, params_order: Literal["cyclic", "shuffled", "random"] | None = None, params_thickness: float | None = None, params_label_noise: float | None = None, params_margin: float | None = None, params_excess: float | None = None, params_alpha: str | None = None, params_theta: str | None = None, params_negated_literals: bool | None = None, params_relevant: int | None = None, params_kernel_conjunctions: Literal["all", "monotone"] | None = None, params_kernel_max_literals: int | None = None, params_max_active: int | None = None, params_max_literals: int | None = None, params_inhibition: float | None = None, params_threshold: float | None = None, params_reinforcement: float | None = None, params_max_iterations: int | None = None, params_restarts: int | None = None, params_step: float | None = None) -> types.Job:
        """Trains a learner on the data in the body.

        The query holds the fields of the task `train` with dots between nested names, such as `params.eta` and
        `stop.max_passes`, and the options for reading the body. The response waits up to 10 seconds for the end of
        the job, or as long as `Prefer` asks.
        """
        return self._send(Call("POST", f"/v1/learners/{segment(name)}/train", accept="application/json", query={"assume": assume, "labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "seed": seed, "class_weight": class_weight, "classes": classes, "discard": discard, "holdout": holdout, "minimum_count": minimum_count, "multiclass": multiclass, "stratify": stratify, "trace": trace, "warm_start": warm_start, "stop.confidence": stop_confidence, "stop.error": stop_error, "stop.max_examples": stop_max_examples, "stop.max_mistakes": stop_max_mistakes, "stop.max_passes": stop_max_passes, "stop.max_seconds": stop_max_seconds, "stop.rule": stop_rule, "callback": callback, "name": name_, "priority": priority, "params.initial": params_initial, "params.batch_size": params_batch_size, "params.reading": params_reading, "params.bias": params_bias, "params.eta": params_eta, "params.order": params_order, "params.thickness": params_thickness, "params.label_noise": params_label_noise, "params.margin": params_margin, "params.excess": params_excess, "params.alpha": params_alpha, "params.theta": params_theta, "params.negated_literals": params_negated_literals, "params.relevant": params_relevant, "params.kernel.conjunctions": params_kernel_conjunctions, "params.kernel.max_literals": params_kernel_max_literals, "params.max_active": params_max_active, "params.max_literals": params_max_literals, "params.inhibition": params_inhibition, "params.threshold": params_threshold, "params.reinforcement": params_reinforcement, "params.max_iterations": params_max_iterations, "params.restarts": params_restarts, "params.step": params_step}, header={"Prefer": prefer}, body=body, creates=True), types.Job)

    def get_limits(self) -> types.LimitsAnswer:
        """Returns the limits of the service and your use of the limits per key.

        A request over a limit is refused with a problem that names the limit.
        """
        return self._send(Call("GET", "/v1/limits", accept="application/json"), types.LimitsAnswer)

    def list_models(self, *, limit: int | None = None, cursor: str | None = None, learner: str | None = None, kind: str | None = None) -> types.ModelList:
        """Lists models without their hypotheses, newest first.

        A page has `limit` items. Send `next_cursor` of the answer as `cursor` to get the next page.
        """
        return self._send(Call("GET", "/v1/models", accept="application/json", query={"limit": limit, "cursor": cursor, "learner": learner, "kind": kind}), types.ModelList)

    def import_model(self, body: types.ModelFile) -> types.Model:
        """Imports a model file under a new id. `GET /v1/models/{id}` exports such files.

        An import overwrites nothing. A file that was altered after the export is refused. The digest `sha256`
        covers the learner, the hypothesis and the record of the training: parameters, seed, data digest, counts and
        the names of features and classes. You may change the `name` of the model. The digest is not a signature, so
        import models only from sources that you trust.
        """
        return self._send(Call("POST", "/v1/models", accept="application/json", body=body, creates=True), types.Model)

    def delete_model(self, id: str) -> None:
        """Deletes a model.

        A waiting job that evaluates the model, or starts from it, then fails with `model-missing`.
        """
        return self._send(Call("DELETE", f"/v1/models/{segment(id)}", accept="application/problem+json"), type(None))

    def get_model(self, id: str) -> types.Model:
        """Returns one model with its hypothesis.

        You can import the document with `POST /v1/models`.
        """
        return self._send(Call("GET", f"/v1/models/{segment(id)}", accept="application/json"), types.Model)

    def get_model_code(self, id: str, *, language: Literal["python", "c", "rust", "sqlite", "postgresql", "excel"]) -> bytes:
        """Returns the hypothesis and the encoding of a model as a stand-alone program.

        The program reads raw rows and gives exactly the predictions of the service:

        - Python: every model, unless a table of it had dates, which no language reads - PostgreSQL: weights and
        conjunction kernels in whole numbers - C, Rust, SQLite: the same, if the absolute sum fits into 64 bits -
        Excel: the same, if the absolute sum is below 2^47 (2^39 with more than two classes, which are at most 255)
        and the formula has at most 8,192 characters - C, Rust: also real weights, added in the order of the service

        A request for any other program is refused, and the detail names the limit. Programs in Python, C and Rust
        read CSV from standard input and write one label per row. A query adds the column `predicted` to a table
        `rows`. A formula belongs into the second row of a sheet with the columns of the file from A. A value that
        the model does not know gives an error, NULL or #N/A instead of a label.

        If the features of the model are names, a program reads the columns row, name and value, with one line for
        each name of an example. A query gives the label of each row. There is no formula, and no program of a model
        whose features are conjunctions of names.
        """
        return self._send(Call("GET", f"/v1/models/{segment(id)}/code", accept="application/sql", query={"language": language}), bytes)

    def evaluate_model(self, id: str, body: types.Data | Content, *, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, assume: Literal["independent", "uniform-positive", "reflected", "uniform"] | None = None, fresh: bool | None = None, confidence: float | None = None) -> types.EvaluateResult:
        """Counts the examples that a model classifies correctly and wrongly, and lists the first errors.

        The class names of the model read the labels, so a body may have some of the classes only. A label that the
        model does not know is an error, and so is an example without a label if the classes have names. Without
        names, half-space examples count as positive. Examples that are declared independent (`assume`) and new to
        the model (`fresh`) give the result a certificate: an interval of the error. For generated data and for long
        evaluations, submit a job with the task `evaluate`. The result of that job is the same document.
        """
        return self._send(Call("POST", f"/v1/models/{segment(id)}/evaluate", accept="application/json", query={"labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "assume": assume, "fresh": fresh, "confidence": confidence}, body=body), types.EvaluateResult)

    def get_model_explanation(self, id: str, *, top: int | None = None, class_: str | None = None, format: Literal["json", "svg", "plain"] | None = None) -> types.Explanation:
        """Explains a model: the decision rule in words, and the heaviest terms with their names and exact weights.

        The terms of a kernel are conjunctions of at most 3 literals. Of the conjunctions that the same support
        vectors satisfy, the answer shows the shortest one. If the search may take longer than `answer_seconds_max`
        on a busy machine, the answer compares conjunctions of fewer literals, and `detail` says so.

        `Accept` or `format` selects the format.
        """
        return self._send(Call("GET", f"/v1/models/{segment(id)}/explanation", accept="application/json", query={"top": top, "class": class_, "format": format}), types.Explanation)

    def explain_model_example(self, id: str, body: types.Data | Content, *, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, top: int | None = None, class_: str | None = None, example: int | None = None) -> types.ExampleExplanation:
        """Explains the decision on one example: the terms that are true for it, with their exact weights.

        Of a text the terms are its names, those with the largest weights first; where names have values, those with
        the largest products of weight and value. If an absent feature counts as -1, its negation is a term. A
        monotone kernel gives the heaviest conjunctions of the features of the example; over all conjunctions, a
        kernel is refused.
        """
        return self._send(Call("POST", f"/v1/models/{segment(id)}/explanation", accept="application/json", query={"labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "top": top, "class": class_, "example": example}, body=body), types.ExampleExplanation)

    def predict_model(self, id: str, body: types.Data | Content, *, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, scores: str | None = None) -> types.Predictions:
        """Predicts the labels of the examples in the body, which may have any accepted format.

        An NDJSON body is answered as NDJSON with one line per example, while the body is still coming in. Each line
        is read by itself. A late error is the last line, `{"error": ...}`. Bodies in other formats are answered in
        the same way if `Accept` asks for `application/x-ndjson`.

        An answer in lines may have any length. At most `answer_bytes_max` bytes of the answer wait for a client
        that does not read yet; then the service reads no more of the body either. Send the body at 16 KiB per
        second or faster, measured over 30 seconds, even if you read each answer before you send more. Once the
        maximum waits, read the answer at that rate too.

        A JSON document omits the scores if they would make it longer than `answer_bytes_max`. A document that is
        still too long, or that takes longer than `answer_seconds_max`, is refused.
        """
        return self._send(Call("POST", f"/v1/models/{segment(id)}/predict", accept="application/json", query={"labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "scores": scores}, body=body), types.Predictions)

    def get_model_receipt(self, id: str) -> types.Receipt:
        """Returns the receipt of the training that made a model.

        A receipt names the mistaken examples of the training. With the parameters and the seed, these examples
        reproduce the run. `halfspace verify` replays a receipt on the data with a second implementation of the
        learners. A training has a receipt if its mistakes and their places reproduce the run, the order is cyclic
        or shuffled, and the run began from the learner's own first hypothesis. With more than two classes, each has
        its own list of mistaken examples.
        """
        return self._send(Call("GET", f"/v1/models/{segment(id)}/receipt", accept="application/json"), types.Receipt)

    def get_model_weights(self, id: str) -> bytes:
        """Returns the weights of a model of the kind `binary-weights` or `linear` as a NumPy array.

        The array has one dimension and one weight per feature. If the model has a bias, the bias is the last
        number, so an example needs a 1 after its features. A model of more than two classes has such a row for each
        class, in the order of the classes. The numbers are exact:

        - `int8` for binary weights, which are -1 and 1 - `int64` for whole weights - `float64` for real weights,
        and for whole multiples of a learning rate

        Read the bits of Boolean examples as the `reading` of the model demands: as -1 and 1 (`signed`, and all
        binary weights) or as 0 and 1 (`unsigned`).
        """
        return self._send(Call("GET", f"/v1/models/{segment(id)}/weights.npy", accept="application/x-npy"), bytes)

    def preview_data(self, body: types.DatasetRequest | Content, *, rows: int | None = None, name: str | None = None, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, assume: Literal["independent", "uniform-positive", "reflected", "uniform"] | None = None) -> types.Preview:
        """Shows how data are read, and stores nothing.

        The body, the formats, the parameters and the limits are those of `POST /v1/datasets`, and equal data have
        the same `sha256` there. The answer to a table has the columns, the kinds that `kinds` accepts for each
        column, and the first rows as written.

        A table that `POST /v1/datasets` would refuse is answered with 200 as soon as the names of its columns are
        known. `refusal` then has the problem, and `columns` shows the choices. The rows after a refused cell are
        read too. The rows end at a line that breaks the format. LIBSVM data with open labels are answered likewise,
        with `label_values`. Other faults, exceeded limits and damaged bodies are problems.

        The preview of the beginning of a file can differ from that of the whole file. Later rows can change the
        kinds, the values and the thresholds of columns, or refuse the file.
        """
        return self._send(Call("POST", "/v1/previews", accept="application/json", query={"rows": rows, "name": name, "labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "assume": assume}, body=body), types.Preview)

    def get_queue(self) -> types.Queue:
        """Returns the load of the queue: queued, running and parked jobs, in all and by key.

        You see your own key in full. Other keys have counts, but neither an id nor a name.
        """
        return self._send(Call("GET", "/v1/queue", accept="application/json"), types.Queue)

    def list_samples(self) -> types.SampleList:
        """Lists tables to try.

        The service makes each table from its definition.
        """
        return self._send(Call("GET", "/v1/samples", accept="application/json"), types.SampleList)

    def get_sample(self, name: str, *, n: int | None = None, m: int | None = None, terms: int | None = None, noise: float | None = None, seed: int | None = None) -> bytes:
        """Returns a table to try as CSV with a row of names.

        The label is the last column, `class`. Equal parameters give equal bytes.
        """
        return self._send(Call("GET", f"/v1/samples/{segment(name)}", accept="text/csv", query={"n": n, "m": m, "terms": terms, "noise": noise, "seed": seed}), bytes)

    def list_sessions(self, *, limit: int | None = None, cursor: str | None = None) -> types.SessionList:
        """Lists sessions, newest first.

        A page has `limit` items. Send `next_cursor` of the answer as `cursor` to get the next page.
        """
        return self._send(Call("GET", "/v1/sessions", accept="application/json", query={"limit": limit, "cursor": cursor}), types.SessionList)

    def create_session(self, body: types.SessionRequest) -> types.Session:
        """Opens a session, in which a learner learns one example at a time.

        Send the examples with `POST /v1/sessions/{id}/examples`.
        """
        return self._send(Call("POST", "/v1/sessions", accept="application/json", body=body, creates=True), types.Session)

    def delete_session(self, id: str) -> None:
        """Deletes a session.

        Models that were saved from the session stay.
        """
        return self._send(Call("DELETE", f"/v1/sessions/{segment(id)}", accept="application/problem+json"), type(None))

    def get_session(self, id: str) -> types.Session:
        """Returns one session in its current state.

        The state includes the current hypothesis and the counts of examples and mistakes.
        """
        return self._send(Call("GET", f"/v1/sessions/{segment(id)}", accept="application/json"), types.Session)

    def learn_session_examples(self, id: str, body: types.Data | Content, *, if_match: str | None = None, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None) -> types.ExampleAnswers:
        """Learns from the examples in the body. The result of an example means that the example is on disk.

        A JSON body is learnt completely or not at all. An NDJSON body is answered line by line while it is coming
        in. A late error is the last line, `{"error": ...}`, and the examples before it stay learnt. An error is
        answered with its own status if it occurs before the first learnt example and within half a second. A body
        in any other format is read to its end first and then answered in the same lines.

        If the first body has labels, they name the classes of the session, unless its encoding does. Later labels
        are read by these names in every format. In a session of open classes, each new label is a class.

        With `If-Match` the session must be at the given position, so a retry learns no example twice.
        """
        return self._send(Call("POST", f"/v1/sessions/{segment(id)}/examples", accept="application/json", query={"labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions}, header={"If-Match": if_match}, body=body), types.ExampleAnswers)

    def save_session_model(self, id: str, *, name: str | None = None) -> types.SavedModel:
        """Saves the current hypothesis of a session as a model.

        The session stays open. The model does not change with the session.
        """
        return self._send(Call("POST", f"/v1/sessions/{segment(id)}/model", accept="application/json", query={"name": name}, creates=True), types.SavedModel)

    def predict_session(self, id: str, body: types.Data | Content, *, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, scores: str | None = None) -> types.Predictions:
        """Predicts labels without learning.

        Formats, answers and limits are those of a prediction by a model. The session keeps its position. If it
        learns while lines of names arrive, later lines are predicted with what it has learnt by then.
        """
        return self._send(Call("POST", f"/v1/sessions/{segment(id)}/predict", accept="application/json", query={"labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "scores": scores}, body=body), types.Predictions)

    def bound_compressed_error(self, *, examples: int, kept: int, errors: int | None = None, confidence: float | None = None) -> types.CompressionBound:
        """Returns the bound on the error of a hypothesis that a few of its examples reproduce (Littlestone and
        Warmuth).

        The bound holds for independent examples of any distribution. A hold-out gives a tighter bound.
        """
        return self._send(Call("GET", "/v1/theory/compression", accept="application/json", query={"examples": examples, "kept": kept, "errors": errors, "confidence": confidence}), types.CompressionBound)

    def count_dichotomies(self, *, points: int, dimension: int) -> types.Dichotomies:
        """Counts the dichotomies of points that hyperplanes through the origin make (Cover's theorem).

        The points must be in general position. The count is exact.
        """
        return self._send(Call("GET", "/v1/theory/cover", accept="application/json", query={"points": points, "dimension": dimension}), types.Dichotomies)

    def analyse_directed_drift(self, *, n: int, delta: float | None = None) -> types.DirectedDriftAnalysis:
        """Analyses Directed Drift exactly, without a simulation.

        The analysis assumes fresh and uniform positive examples.
        """
        return self._send(Call("GET", "/v1/theory/directed-drift", accept="application/json", query={"n": n, "delta": delta}), types.DirectedDriftAnalysis)

    def bound_perceptron_mistakes(self, *, radius: float, norm: float, margin: float) -> types.MistakeBound:
        """Returns Novikoff's bound on the mistakes of the perceptron, R^2 |u|^2 / xi^2.

        The bound holds for every sequence of examples that the separator u classifies with this margin.
        """
        return self._send(Call("GET", "/v1/theory/novikoff", accept="application/json", query={"radius": radius, "norm": norm, "margin": margin}), types.MistakeBound)

    def bound_mean_error(self, *, mistakes: int, examples: int, confidence: float | None = None) -> types.ProgressiveBound:
        """Returns the bound on the mean error of the hypotheses of a run (progressive validation).

        The bound holds at all times at once, for independent examples of any distribution.
        """
        return self._send(Call("GET", "/v1/theory/progressive", accept="application/json", query={"mistakes": mistakes, "examples": examples, "confidence": confidence}), types.ProgressiveBound)

    def get_stopping_threshold(self, *, n: int, confidence: float | None = None, sampling: Literal["uniform-positive", "reflected", "uniform"] | None = None, hypothesis: int | None = None) -> types.StoppingThresholds:
        """Returns the run lengths at which the stopping rules accept a hypothesis.

        A run length is the number of consecutive examples without a mistake.
        """
        return self._send(Call("GET", "/v1/theory/stopping", accept="application/json", query={"n": n, "confidence": confidence, "sampling": sampling, "hypothesis": hypothesis}), types.StoppingThresholds)

    def bound_surviving_error(self, *, run_length: int | None = None, error: float | None = None, hypothesis: int | None = None, confidence: float | None = None) -> types.SurvivalBound:
        """Returns the bound on the error of a surviving hypothesis, or the run length that proves an error.

        The bound holds for all hypotheses of a run at once, for independent examples of any distribution.
        """
        return self._send(Call("GET", "/v1/theory/survival", accept="application/json", query={"run_length": run_length, "error": error, "hypothesis": hypothesis, "confidence": confidence}), types.SurvivalBound)

    def bound_test_set_error(self, *, errors: int, examples: int, confidence: float | None = None) -> types.TestSetLimits:
        """Returns the exact confidence limits of an error after a test (Clopper and Pearson).

        The examples must be independent draws that the learner was not shown.
        """
        return self._send(Call("GET", "/v1/theory/test-set", accept="application/json", query={"errors": errors, "examples": examples, "confidence": confidence}), types.TestSetLimits)

    def bound_other_targets(self, *, n: int, examples: int | None = None, confidence: float | None = None, sampling: Literal["uniform-positive", "reflected", "uniform"] | None = None) -> types.UniquenessBound:
        """Returns the doubt that a consistent vector of binary weights is the target, or the examples that a
        confidence needs.

        The bound holds for independent uniform examples without noise, for any search that found the vector.
        """
        return self._send(Call("GET", "/v1/theory/uniqueness", accept="application/json", query={"n": n, "examples": examples, "confidence": confidence, "sampling": sampling}), types.UniquenessBound)

    def bound_winnow_mistakes(self, *, n: int, relevant: int, alpha: float | None = None, theta: str | None = None) -> types.MistakeBound:
        """Returns Winnow's mistake bound for disjunctions (Theorem 2 of Khardon, Roth and Servedio).

        The bound holds for every sequence of examples that a disjunction of `relevant` literals labels.
        """
        return self._send(Call("GET", "/v1/theory/winnow", accept="application/json", query={"n": n, "relevant": relevant, "alpha": alpha, "theta": theta}), types.MistakeBound)

    def list_workers(self) -> types.WorkerList:
        """Lists the live processes of the service, in the order of their starts.

        A process appears at its start and disappears when it stops. A process that dies disappears after 60
        seconds.
        """
        return self._send(Call("GET", "/v1/workers", accept="application/json"), types.WorkerList)

    def get_inference_server(self) -> types.InferenceServer:
        """Describes the server and the supported extensions of the protocol.

        The name and the version are those of the service.
        """
        return self._send(Call("GET", "/v2", accept="application/json"), types.InferenceServer)

    def check_inference_liveness(self) -> types.InferenceLive:
        """Tells whether the process is alive.

        The answer does not depend on the database. `GET /livez` is the same check without a key.
        """
        return self._send(Call("GET", "/v2/health/live", accept="application/json"), types.InferenceLive)

    def check_inference_readiness(self) -> types.InferenceReady:
        """Tells whether the service can answer requests.

        The service is not ready while the process stops or the store does not answer.
        """
        return self._send(Call("GET", "/v2/health/ready", accept="application/json"), types.InferenceReady)

    def get_inference_model(self, id: str) -> types.InferenceModel:
        """Describes the tensors of a model: `x` in, `prediction` and `score` out.

        The description has the metadata format of the Open Inference Protocol.
        """
        return self._send(Call("GET", f"/v2/models/{segment(id)}", accept="application/json"), types.InferenceModel)

    def infer_model(self, id: str, body: types.InferenceRequest | Content, *, inference_header_content_length: int | None = None) -> types.InferenceAnswer:
        """Predicts by the Open Inference Protocol: tensor `x` in, tensors `prediction` and `score` out.

        With the protocol's binary extension the tensor follows the JSON as octets. The header `Inference-Header-
        Content-Length` then gives the length of the JSON. The answer contains octets only if you ask for them.
        Parameters that are not listed here are refused. The tensors of an answer are limited to `answer_bytes_max`
        bytes.
        """
        return self._send(Call("POST", f"/v2/models/{segment(id)}/infer", accept="application/json", header={"Inference-Header-Content-Length": inference_header_content_length}, body=body), types.InferenceAnswer)

    def check_inference_model(self, id: str) -> types.InferenceModelReady:
        """Tells whether a model is ready. Every existing model is ready.

        An unknown id gets status 404.
        """
        return self._send(Call("GET", f"/v2/models/{segment(id)}/ready", accept="application/json"), types.InferenceModelReady)

    def get_inference_model_version(self, id: str, version: str) -> types.InferenceModel:
        """Describes the tensors of a named version of a model.

        A model never changes, so the only version is 1.
        """
        return self._send(Call("GET", f"/v2/models/{segment(id)}/versions/{segment(version)}", accept="application/json"), types.InferenceModel)

    def infer_model_version(self, id: str, version: str, body: types.InferenceRequest | Content, *, inference_header_content_length: int | None = None) -> types.InferenceAnswer:
        """Predicts by the Open Inference Protocol with a named version of the model.

        A model never changes, so the only version is 1.
        """
        return self._send(Call("POST", f"/v2/models/{segment(id)}/versions/{segment(version)}/infer", accept="application/json", header={"Inference-Header-Content-Length": inference_header_content_length}, body=body), types.InferenceAnswer)

    def check_inference_model_version(self, id: str, version: str) -> types.InferenceModelReady:
        """Tells whether a named version of a model is ready.

        A model never changes, so the only version is 1.
        """
        return self._send(Call("GET", f"/v2/models/{segment(id)}/versions/{segment(version)}/ready", accept="application/json"), types.InferenceModelReady)

    def get_version(self) -> types.Version:
        """Returns the name, the version and the revision of the service.

        All processes of one build give the same answer.
        """
        return self._send(Call("GET", "/version", accept="application/json"), types.Version)


class AsyncOperations:
    """The operations of a service."""

    async def _send(self, call: Call, answer: type[T]) -> T:
        raise NotImplementedError

    async def check_liveness(self) -> types.Health:
        """Reports that the process answers requests.

        The answer does not depend on the database, and a thread of its own gives it. The status is `stalled` while
        another thread of the process has been held up for 2 seconds. After 30 seconds the answer is a problem, so
        that an orchestrator restarts the process.
        """
        return await self._send(Call("GET", "/livez", accept="application/json"), types.Health)

    async def get_metrics(self) -> bytes:
        """Returns the metrics of the process in the text format of Prometheus.

        Each process counts its own requests and jobs.
        """
        return await self._send(Call("GET", "/metrics", accept="text/plain"), bytes)

    async def get_openapi_document(self) -> dict[str, Any]:
        """Returns this document.

        The schemas contain the limits in force.
        """
        return await self._send(Call("GET", "/openapi.json", accept="application/json"), dict[str, Any])

    async def list_problem_pages(self) -> bytes:
        """Lists all error codes on an HTML page.

        Each code has a page of its own.
        """
        return await self._send(Call("GET", "/problems", accept="text/html"), bytes)

    async def get_problem_page(self, code: str) -> bytes:
        """Explains an error code on an HTML page.

        The `type` of a problem is the path of this page.
        """
        return await self._send(Call("GET", f"/problems/{segment(code)}", accept="text/html"), bytes)

    async def check_readiness(self) -> types.Health:
        """Reports whether the service can handle requests now.

        A service is not ready while it is stopping, or while the store does not answer.
        """
        return await self._send(Call("GET", "/readyz", accept="application/json"), types.Health)

    async def construct_kernel_perceptron_adversary(self, body: types.AdversaryRequest) -> types.AdversaryAnswer:
        """Builds the sequence on which the monotone kernel perceptron errs every time (Theorem 4).

        With `store`, the service stores the sequence as a dataset and the answer has status 201.
        """
        return await self._send(Call("POST", "/v1/constructions/kernel-perceptron-adversary", accept="application/json", body=body, creates=True), types.AdversaryAnswer)

    async def construct_monotone_cnf(self, body: types.CnfRequest) -> types.CnfAnswer:
        """Builds a monotone CNF with a given number of satisfying assignments (Lemma 8).

        Each clause has two variables, which may be equal.
        """
        return await self._send(Call("POST", "/v1/constructions/monotone-cnf", accept="application/json", body=body), types.CnfAnswer)

    async def construct_winnow_counting(self, body: types.CountingRequest) -> types.CountingAnswer:
        """Builds the sequence with which kernel Winnow counts a formula's satisfying assignments (Theorem 7).

        After training on the sequence, the prediction for the `query` example answers the question.
        """
        return await self._send(Call("POST", "/v1/constructions/winnow-counting", accept="application/json", body=body, creates=True), types.CountingAnswer)

    async def list_datasets(self, *, limit: int | None = None, cursor: str | None = None) -> types.DatasetList:
        """Lists the datasets, newest first, without the names of their features.

        A page has `limit` items. Send `next_cursor` of the answer as `cursor` to get the next page.
        """
        return await self._send(Call("GET", "/v1/datasets", accept="application/json", query={"limit": limit, "cursor": cursor}), types.DatasetList)

    async def create_dataset(self, body: types.DatasetRequest | Content, *, name: str | None = None, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, assume: Literal["independent", "uniform-positive", "reflected", "uniform"] | None = None) -> types.Dataset:
        """Stores data as a dataset, so that jobs can read the data by the id of the dataset.

        A JSON body contains the name and the data. In any other format the body is the data, and the query contains
        the rest. Examples without labels are half-space examples, unless a JSON body calls them `unlabelled`.
        """
        return await self._send(Call("POST", "/v1/datasets", accept="application/json", query={"name": name, "labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "assume": assume}, body=body, creates=True), types.Dataset)

    async def import_dataset(self, body: types.DatasetSource, *, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, assume: Literal["independent", "uniform-positive", "reflected", "uniform"] | None = None, prefer: str | None = None) -> types.Job:
        """Stores an object of a bucket as a dataset, in a job.

        The query has the options of the data, as for an upload. The operator allows prefixes of buckets with
        `--sources`; nothing else is fetched. The job reads the version of the object that this request saw, and its
        result names the dataset. With `Prefer: wait=S` the answer waits up to S seconds for the end of the job.
        """
        return await self._send(Call("POST", "/v1/datasets/import", accept="application/json", query={"labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "assume": assume}, header={"Prefer": prefer}, body=body, creates=True), types.Job)

    async def delete_dataset(self, id: str) -> None:
        """Deletes a dataset, unless a job that has not ended reads the dataset.

        Models that were trained on the dataset stay.
        """
        return await self._send(Call("DELETE", f"/v1/datasets/{segment(id)}", accept="application/problem+json"), type(None))

    async def get_dataset(self, id: str) -> types.Dataset:
        """Returns a dataset without the examples.

        The answer has the names of the features and of the labels. Read the examples with `GET
        /v1/datasets/{id}/examples`.
        """
        return await self._send(Call("GET", f"/v1/datasets/{segment(id)}", accept="application/json"), types.Dataset)

    async def encode_dataset(self, id: str, *, name: str | None = None, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, assume: Literal["independent", "uniform-positive", "reflected", "uniform"] | None = None) -> types.Dataset:
        """Encodes the table of a dataset again, and stores it as a new dataset.

        The result is that of an upload of the same file with these options, except that numbers before the first
        cell that is no number have lost their spelling. Without `labels`, the labels stay where they are, and a
        declared distribution stays. All other options of the upload are gone: state them again.
        """
        return await self._send(Call("POST", f"/v1/datasets/{segment(id)}/encode", accept="application/json", query={"name": name, "labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "assume": assume}, creates=True), types.Dataset)

    async def list_dataset_examples(self, id: str, *, offset: int | None = None, limit: int | None = None, format: Literal["json", "ndjson", "csv", "libsvm", "vw"] | None = None) -> types.ExamplePage:
        """Returns a page of the examples of a dataset in stored order.

        `Accept` or `format` selects the format. CSV has the names of the classes. The other formats have the labels
        1 and -1, unless a class is named by a number: then they have the names too, because a 1 could mean either.

        You can upload an answer in a line format again and get the same data. In CSV and LIBSVM the label comes
        first, so upload CSV with `labels=first`. CSV has a row of names if the features have names; upload such a
        page with `labels=first&header=true`. Upload CSV or LIBSVM without labels with `labels=none`. LIBSVM omits
        zeros, so also pass `n`. `text/x-vw` lists names, so it needs an open vocabulary.
        """
        return await self._send(Call("GET", f"/v1/datasets/{segment(id)}/examples", accept="application/json", query={"offset": offset, "limit": limit, "format": format}), types.ExamplePage)

    async def list_figures(self) -> types.FigureList:
        """Lists the ready-made figures.

        Each figure is an experiment with fixed parameters. Run a figure with `POST /v1/experiments/{figure}`.
        """
        return await self._send(Call("GET", "/v1/experiments", accept="application/json"), types.FigureList)

    async def run_figure(self, figure: str, body: types.FigureRequest | None = None, *, prefer: str | None = None) -> types.Job:
        """Runs the experiment behind a ready-made figure as a job.

        Without a body, the figure runs with the parameters in the list. With `Prefer: wait=S` the answer waits up
        to S seconds for the end of the job.
        """
        return await self._send(Call("POST", f"/v1/experiments/{segment(figure)}", accept="application/json", header={"Prefer": prefer}, body=body, creates=True), types.Job)

    async def draw_figure(self, body: types.Drawing) -> bytes:
        """Draws a figure.

        The body describes a chart, bars or heat maps. The result of an experiment is a chart, which you can send as
        it is or with another title. Equal figures give equal bytes. Neither the body nor the picture may take more
        than `answer_bytes_max` bytes.
        """
        return await self._send(Call("POST", "/v1/figures", accept="image/svg+xml", body=body), bytes)

    async def list_jobs(self, *, limit: int | None = None, cursor: str | None = None, status: Literal["queued", "running", "succeeded", "failed", "cancelled"] | None = None, task: str | None = None, learner: str | None = None, parent: types.JobId | None = None) -> types.JobList:
        """Lists the jobs, newest first.

        The parts of a job are listed only with `parent`. Send `next_cursor` of the answer as `cursor` to get the
        next page. The parts of results that may be long are null in lists: hypotheses, certificates of separability
        and support vectors. A result with more than 64 KiB besides these parts is null as a whole.
        """
        return await self._send(Call("GET", "/v1/jobs", accept="application/json", query={"limit": limit, "cursor": cursor, "status": status, "task": task, "learner": learner, "parent": parent}), types.JobList)

    async def create_job(self, body: types.JobRequest, *, prefer: str | None = None) -> types.Job:
        """Submits a job.

        The body holds exactly one task with its data. The service stores the job before the answer. With `Prefer:
        wait=S` the answer waits up to S seconds for the end of the job.
        """
        return await self._send(Call("POST", "/v1/jobs", accept="application/json", header={"Prefer": prefer}, body=body, creates=True), types.Job)

    async def cancel_jobs(self, body: types.JobIds) -> types.JobOutcomes:
        """Cancels several jobs.

        Each job ends as if you had cancelled it alone; a job that you cancelled before is no error. The answer
        tells for each id what became of it, so look for a `refusal`. You can safely repeat the request.
        """
        return await self._send(Call("POST", "/v1/jobs/cancel", accept="application/json", body=body), types.JobOutcomes)

    async def delete_jobs(self, body: types.JobIds) -> types.JobOutcomes:
        """Deletes several ended jobs. Their models stay.

        The answer tells for each id what became of it. A job that has not ended is refused; cancel it first. After
        a repeated request, the jobs that the first one deleted are refused as `not-found`.
        """
        return await self._send(Call("POST", "/v1/jobs/delete", accept="application/json", body=body), types.JobOutcomes)

    async def delete_job(self, id: str) -> None:
        """Deletes an ended job. The model of the job stays.

        Cancel a job that has not ended before you delete the job.
        """
        return await self._send(Call("DELETE", f"/v1/jobs/{segment(id)}", accept="application/problem+json"), type(None))

    async def get_job(self, id: str, *, prefer: str | None = None) -> types.Job:
        """Returns a job.

        The document contains the status, the progress and, after the end, the result. With `Prefer: wait=S` the
        answer waits up to S seconds for the end of the job.
        """
        return await self._send(Call("GET", f"/v1/jobs/{segment(id)}", accept="application/json", header={"Prefer": prefer}), types.Job)

    async def cancel_job(self, id: str) -> types.Job:
        """Requests the end of a job. The hypothesis learnt so far is kept.

        A running job ends shortly after the answer. A repeated request changes nothing.
        """
        return await self._send(Call("POST", f"/v1/jobs/{segment(id)}/cancel", accept="application/json"), types.Job)

    async def follow_job(self, id: str, *, last_event_id: int | None = None) -> bytes:
        """Streams the events of a job: `status`, `progress` and finally `result`. Each event has an id.

        Send `Last-Event-ID` to resume after that event. The stream ends after the `result` event. The stream also
        ends when the service stops; then reconnect. One key may follow as many jobs at once as `event_streams_max`
        leaves it.
        """
        return await self._send(Call("GET", f"/v1/jobs/{segment(id)}/events", accept="text/event-stream", header={"Last-Event-ID": last_event_id}), bytes)

    async def get_job_figure(self, id: str, *, format: Literal["json", "svg", "csv"] | None = None) -> types.JobResult:
        """Returns the outcome of an experiment or of a comparison as a picture, a table or a document.

        `Accept` or `format` selects the format. While the job runs, the outcome contains the parts that have ended.
        """
        return await self._send(Call("GET", f"/v1/jobs/{segment(id)}/figure", accept="application/json", query={"format": format}), types.JobResult)  # type: ignore[arg-type]

    async def get_job_trace(self, id: str, *, format: Literal["json", "svg", "csv"] | None = None) -> types.Trace:
        """Returns the mistake curve of a training as JSON, CSV or an SVG picture.

        `Accept` or `format` selects the format. The picture also shows the bound of a theorem on the mistakes, if
        one applies to the run.
        """
        return await self._send(Call("GET", f"/v1/jobs/{segment(id)}/trace", accept="application/json", query={"format": format}), types.Trace)

    async def list_learners(self, *, dataset: types.DatasetId | None = None) -> types.LearnerList:
        """Lists all learners.

        Each entry names the accepted data, the parameters and stop conditions with their defaults, and the proved
        guarantee. With `dataset` each entry also tells whether the learner can learn from the dataset, and the
        reason if the learner cannot.
        """
        return await self._send(Call("GET", "/v1/learners", accept="application/json", query={"dataset": dataset}), types.LearnerList)

    async def get_learner(self, name: str) -> types.Learner:
        """Returns one learner.

        The entry names the accepted data, the parameters with their defaults, and the proved guarantee.
        """
        return await self._send(Call("GET", f"/v1/learners/{segment(name)}", accept="application/json"), types.Learner)

    async def train_learner(self, name: str, body: types.Data | Content, *, prefer: str | None = None, assume: Literal["independent", "uniform-positive", "reflected", "uniform"] | None = None, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, seed: types.SeedNumber | None = None, class_weight: types.StatedClassWeights | None = None, classes: types.StatedClasses | None = None, discard: float | None = None, holdout: float | None = None, minimum_count: types.Positive | None = None, multiclass: types.Multiclass | None = None, stratify: bool | None = None, trace: bool | None = None, warm_start: types.ModelId | None = None, stop_confidence: float | None = None, stop_error: float | None = None, stop_max_examples: types.Positive | None = None, stop_max_mistakes: types.Positive | None = None, stop_max_passes: types.Positive | None = None, stop_max_seconds: float | None = None, stop_rule: types.StopRule | None = None, callback: str | None = None, name_: str | None = None, priority: int | None = None, params_initial: str | None = None, params_batch_size: int | None = None, params_reading: Literal["signed", "unsigned"] | None = None, params_bias: bool | None = None, params_eta: float | None = None, params_order: Literal["cyclic", "shuffled", "random"] | None = None, params_thickness: float | None = None, params_label_noise: float | None = None, params_margin: float | None = None, params_excess: float | None = None, params_alpha: str | None = None, params_theta: str | None = None, params_negated_literals: bool | None = None, params_relevant: int | None = None, params_kernel_conjunctions: Literal["all", "monotone"] | None = None, params_kernel_max_literals: int | None = None, params_max_active: int | None = None, params_max_literals: int | None = None, params_inhibition: float | None = None, params_threshold: float | None = None, params_reinforcement: float | None = None, params_max_iterations: int | None = None, params_restarts: int | None = None, params_step: float | None = None) -> types.Job:
        """Trains a learner on the data in the body.

        The query holds the fields of the task `train` with dots between nested names, such as `params.eta` and
        `stop.max_passes`, and the options for reading the body. The response waits up to 10 seconds for the end of
        the job, or as long as `Prefer` asks.
        """
        return await self._send(Call("POST", f"/v1/learners/{segment(name)}/train", accept="application/json", query={"assume": assume, "labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "seed": seed, "class_weight": class_weight, "classes": classes, "discard": discard, "holdout": holdout, "minimum_count": minimum_count, "multiclass": multiclass, "stratify": stratify, "trace": trace, "warm_start": warm_start, "stop.confidence": stop_confidence, "stop.error": stop_error, "stop.max_examples": stop_max_examples, "stop.max_mistakes": stop_max_mistakes, "stop.max_passes": stop_max_passes, "stop.max_seconds": stop_max_seconds, "stop.rule": stop_rule, "callback": callback, "name": name_, "priority": priority, "params.initial": params_initial, "params.batch_size": params_batch_size, "params.reading": params_reading, "params.bias": params_bias, "params.eta": params_eta, "params.order": params_order, "params.thickness": params_thickness, "params.label_noise": params_label_noise, "params.margin": params_margin, "params.excess": params_excess, "params.alpha": params_alpha, "params.theta": params_theta, "params.negated_literals": params_negated_literals, "params.relevant": params_relevant, "params.kernel.conjunctions": params_kernel_conjunctions, "params.kernel.max_literals": params_kernel_max_literals, "params.max_active": params_max_active, "params.max_literals": params_max_literals, "params.inhibition": params_inhibition, "params.threshold": params_threshold, "params.reinforcement": params_reinforcement, "params.max_iterations": params_max_iterations, "params.restarts": params_restarts, "params.step": params_step}, header={"Prefer": prefer}, body=body, creates=True), types.Job)

    async def get_limits(self) -> types.LimitsAnswer:
        """Returns the limits of the service and your use of the limits per key.

        A request over a limit is refused with a problem that names the limit.
        """
        return await self._send(Call("GET", "/v1/limits", accept="application/json"), types.LimitsAnswer)

    async def list_models(self, *, limit: int | None = None, cursor: str | None = None, learner: str | None = None, kind: str | None = None) -> types.ModelList:
        """Lists models without their hypotheses, newest first.

        A page has `limit` items. Send `next_cursor` of the answer as `cursor` to get the next page.
        """
        return await self._send(Call("GET", "/v1/models", accept="application/json", query={"limit": limit, "cursor": cursor, "learner": learner, "kind": kind}), types.ModelList)

    async def import_model(self, body: types.ModelFile) -> types.Model:
        """Imports a model file under a new id. `GET /v1/models/{id}` exports such files.

        An import overwrites nothing. A file that was altered after the export is refused. The digest `sha256`
        covers the learner, the hypothesis and the record of the training: parameters, seed, data digest, counts and
        the names of features and classes. You may change the `name` of the model. The digest is not a signature, so
        import models only from sources that you trust.
        """
        return await self._send(Call("POST", "/v1/models", accept="application/json", body=body, creates=True), types.Model)

    async def delete_model(self, id: str) -> None:
        """Deletes a model.

        A waiting job that evaluates the model, or starts from it, then fails with `model-missing`.
        """
        return await self._send(Call("DELETE", f"/v1/models/{segment(id)}", accept="application/problem+json"), type(None))

    async def get_model(self, id: str) -> types.Model:
        """Returns one model with its hypothesis.

        You can import the document with `POST /v1/models`.
        """
        return await self._send(Call("GET", f"/v1/models/{segment(id)}", accept="application/json"), types.Model)

    async def get_model_code(self, id: str, *, language: Literal["python", "c", "rust", "sqlite", "postgresql", "excel"]) -> bytes:
        """Returns the hypothesis and the encoding of a model as a stand-alone program.

        The program reads raw rows and gives exactly the predictions of the service:

        - Python: every model, unless a table of it had dates, which no language reads - PostgreSQL: weights and
        conjunction kernels in whole numbers - C, Rust, SQLite: the same, if the absolute sum fits into 64 bits -
        Excel: the same, if the absolute sum is below 2^47 (2^39 with more than two classes, which are at most 255)
        and the formula has at most 8,192 characters - C, Rust: also real weights, added in the order of the service

        A request for any other program is refused, and the detail names the limit. Programs in Python, C and Rust
        read CSV from standard input and write one label per row. A query adds the column `predicted` to a table
        `rows`. A formula belongs into the second row of a sheet with the columns of the file from A. A value that
        the model does not know gives an error, NULL or #N/A instead of a label.

        If the features of the model are names, a program reads the columns row, name and value, with one line for
        each name of an example. A query gives the label of each row. There is no formula, and no program of a model
        whose features are conjunctions of names.
        """
        return await self._send(Call("GET", f"/v1/models/{segment(id)}/code", accept="application/sql", query={"language": language}), bytes)

    async def evaluate_model(self, id: str, body: types.Data | Content, *, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, assume: Literal["independent", "uniform-positive", "reflected", "uniform"] | None = None, fresh: bool | None = None, confidence: float | None = None) -> types.EvaluateResult:
        """Counts the examples that a model classifies correctly and wrongly, and lists the first errors.

        The class names of the model read the labels, so a body may have some of the classes only. A label that the
        model does not know is an error, and so is an example without a label if the classes have names. Without
        names, half-space examples count as positive. Examples that are declared independent (`assume`) and new to
        the model (`fresh`) give the result a certificate: an interval of the error. For generated data and for long
        evaluations, submit a job with the task `evaluate`. The result of that job is the same document.
        """
        return await self._send(Call("POST", f"/v1/models/{segment(id)}/evaluate", accept="application/json", query={"labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "assume": assume, "fresh": fresh, "confidence": confidence}, body=body), types.EvaluateResult)

    async def get_model_explanation(self, id: str, *, top: int | None = None, class_: str | None = None, format: Literal["json", "svg", "plain"] | None = None) -> types.Explanation:
        """Explains a model: the decision rule in words, and the heaviest terms with their names and exact weights.

        The terms of a kernel are conjunctions of at most 3 literals. Of the conjunctions that the same support
        vectors satisfy, the answer shows the shortest one. If the search may take longer than `answer_seconds_max`
        on a busy machine, the answer compares conjunctions of fewer literals, and `detail` says so.

        `Accept` or `format` selects the format.
        """
        return await self._send(Call("GET", f"/v1/models/{segment(id)}/explanation", accept="application/json", query={"top": top, "class": class_, "format": format}), types.Explanation)

    async def explain_model_example(self, id: str, body: types.Data | Content, *, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, top: int | None = None, class_: str | None = None, example: int | None = None) -> types.ExampleExplanation:
        """Explains the decision on one example: the terms that are true for it, with their exact weights.

        Of a text the terms are its names, those with the largest weights first; where names have values, those with
        the largest products of weight and value. If an absent feature counts as -1, its negation is a term. A
        monotone kernel gives the heaviest conjunctions of the features of the example; over all conjunctions, a
        kernel is refused.
        """
        return await self._send(Call("POST", f"/v1/models/{segment(id)}/explanation", accept="application/json", query={"labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "top": top, "class": class_, "example": example}, body=body), types.ExampleExplanation)

    async def predict_model(self, id: str, body: types.Data | Content, *, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, scores: str | None = None) -> types.Predictions:
        """Predicts the labels of the examples in the body, which may have any accepted format.

        An NDJSON body is answered as NDJSON with one line per example, while the body is still coming in. Each line
        is read by itself. A late error is the last line, `{"error": ...}`. Bodies in other formats are answered in
        the same way if `Accept` asks for `application/x-ndjson`.

        An answer in lines may have any length. At most `answer_bytes_max` bytes of the answer wait for a client
        that does not read yet; then the service reads no more of the body either. Send the body at 16 KiB per
        second or faster, measured over 30 seconds, even if you read each answer before you send more. Once the
        maximum waits, read the answer at that rate too.

        A JSON document omits the scores if they would make it longer than `answer_bytes_max`. A document that is
        still too long, or that takes longer than `answer_seconds_max`, is refused.
        """
        return await self._send(Call("POST", f"/v1/models/{segment(id)}/predict", accept="application/json", query={"labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "scores": scores}, body=body), types.Predictions)

    async def get_model_receipt(self, id: str) -> types.Receipt:
        """Returns the receipt of the training that made a model.

        A receipt names the mistaken examples of the training. With the parameters and the seed, these examples
        reproduce the run. `halfspace verify` replays a receipt on the data with a second implementation of the
        learners. A training has a receipt if its mistakes and their places reproduce the run, the order is cyclic
        or shuffled, and the run began from the learner's own first hypothesis. With more than two classes, each has
        its own list of mistaken examples.
        """
        return await self._send(Call("GET", f"/v1/models/{segment(id)}/receipt", accept="application/json"), types.Receipt)

    async def get_model_weights(self, id: str) -> bytes:
        """Returns the weights of a model of the kind `binary-weights` or `linear` as a NumPy array.

        The array has one dimension and one weight per feature. If the model has a bias, the bias is the last
        number, so an example needs a 1 after its features. A model of more than two classes has such a row for each
        class, in the order of the classes. The numbers are exact:

        - `int8` for binary weights, which are -1 and 1 - `int64` for whole weights - `float64` for real weights,
        and for whole multiples of a learning rate

        Read the bits of Boolean examples as the `reading` of the model demands: as -1 and 1 (`signed`, and all
        binary weights) or as 0 and 1 (`unsigned`).
        """
        return await self._send(Call("GET", f"/v1/models/{segment(id)}/weights.npy", accept="application/x-npy"), bytes)

    async def preview_data(self, body: types.DatasetRequest | Content, *, rows: int | None = None, name: str | None = None, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, assume: Literal["independent", "uniform-positive", "reflected", "uniform"] | None = None) -> types.Preview:
        """Shows how data are read, and stores nothing.

        The body, the formats, the parameters and the limits are those of `POST /v1/datasets`, and equal data have
        the same `sha256` there. The answer to a table has the columns, the kinds that `kinds` accepts for each
        column, and the first rows as written.

        A table that `POST /v1/datasets` would refuse is answered with 200 as soon as the names of its columns are
        known. `refusal` then has the problem, and `columns` shows the choices. The rows after a refused cell are
        read too. The rows end at a line that breaks the format. LIBSVM data with open labels are answered likewise,
        with `label_values`. Other faults, exceeded limits and damaged bodies are problems.

        The preview of the beginning of a file can differ from that of the whole file. Later rows can change the
        kinds, the values and the thresholds of columns, or refuse the file.
        """
        return await self._send(Call("POST", "/v1/previews", accept="application/json", query={"rows": rows, "name": name, "labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "assume": assume}, body=body), types.Preview)

    async def get_queue(self) -> types.Queue:
        """Returns the load of the queue: queued, running and parked jobs, in all and by key.

        You see your own key in full. Other keys have counts, but neither an id nor a name.
        """
        return await self._send(Call("GET", "/v1/queue", accept="application/json"), types.Queue)

    async def list_samples(self) -> types.SampleList:
        """Lists tables to try.

        The service makes each table from its definition.
        """
        return await self._send(Call("GET", "/v1/samples", accept="application/json"), types.SampleList)

    async def get_sample(self, name: str, *, n: int | None = None, m: int | None = None, terms: int | None = None, noise: float | None = None, seed: int | None = None) -> bytes:
        """Returns a table to try as CSV with a row of names.

        The label is the last column, `class`. Equal parameters give equal bytes.
        """
        return await self._send(Call("GET", f"/v1/samples/{segment(name)}", accept="text/csv", query={"n": n, "m": m, "terms": terms, "noise": noise, "seed": seed}), bytes)

    async def list_sessions(self, *, limit: int | None = None, cursor: str | None = None) -> types.SessionList:
        """Lists sessions, newest first.

        A page has `limit` items. Send `next_cursor` of the answer as `cursor` to get the next page.
        """
        return await self._send(Call("GET", "/v1/sessions", accept="application/json", query={"limit": limit, "cursor": cursor}), types.SessionList)

    async def create_session(self, body: types.SessionRequest) -> types.Session:
        """Opens a session, in which a learner learns one example at a time.

        Send the examples with `POST /v1/sessions/{id}/examples`.
        """
        return await self._send(Call("POST", "/v1/sessions", accept="application/json", body=body, creates=True), types.Session)

    async def delete_session(self, id: str) -> None:
        """Deletes a session.

        Models that were saved from the session stay.
        """
        return await self._send(Call("DELETE", f"/v1/sessions/{segment(id)}", accept="application/problem+json"), type(None))

    async def get_session(self, id: str) -> types.Session:
        """Returns one session in its current state.

        The state includes the current hypothesis and the counts of examples and mistakes.
        """
        return await self._send(Call("GET", f"/v1/sessions/{segment(id)}", accept="application/json"), types.Session)

    async def learn_session_examples(self, id: str, body: types.Data | Content, *, if_match: str | None = None, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None) -> types.ExampleAnswers:
        """Learns from the examples in the body. The result of an example means that the example is on disk.

        A JSON body is learnt completely or not at all. An NDJSON body is answered line by line while it is coming
        in. A late error is the last line, `{"error": ...}`, and the examples before it stay learnt. An error is
        answered with its own status if it occurs before the first learnt example and within half a second. A body
        in any other format is read to its end first and then answered in the same lines.

        If the first body has labels, they name the classes of the session, unless its encoding does. Later labels
        are read by these names in every format. In a session of open classes, each new label is a class.

        With `If-Match` the session must be at the given position, so a retry learns no example twice.
        """
        return await self._send(Call("POST", f"/v1/sessions/{segment(id)}/examples", accept="application/json", query={"labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions}, header={"If-Match": if_match}, body=body), types.ExampleAnswers)

    async def save_session_model(self, id: str, *, name: str | None = None) -> types.SavedModel:
        """Saves the current hypothesis of a session as a model.

        The session stays open. The model does not change with the session.
        """
        return await self._send(Call("POST", f"/v1/sessions/{segment(id)}/model", accept="application/json", query={"name": name}, creates=True), types.SavedModel)

    async def predict_session(self, id: str, body: types.Data | Content, *, labels: str | None = None, positive: str | None = None, label_threshold: float | None = None, weights: str | None = None, ignore: str | None = None, kinds: str | None = None, numbers: Literal["real", "thermometer"] | None = None, bins: int | None = None, scale: Literal["none", "standard", "range"] | None = None, missing: Literal["value", "drop", "refuse", "mean", "median", "most-frequent", "indicator"] | None = None, missing_values: str | None = None, unknown: Literal["refuse", "zero"] | None = None, delimiter: Literal["auto", ",", ";", "|", "tab", "blank"] | None = None, comment: str | None = None, charset: str | None = None, decimal: Literal[".", ","] | None = None, dates: Literal["dmy", "mdy"] | None = None, sheet: str | None = None, header: Literal["auto", "true", "false"] | None = None, encoding: str | None = None, bit_order: Literal["big", "little"] | None = None, n: int | None = None, vocabulary: Literal["auto", "open"] | None = None, first_index: Literal["auto", "0", "1"] | None = None, words: str | None = None, characters: str | None = None, window: str | None = None, lower_case: Literal["true", "false"] | None = None, occurrences: Literal["presence", "counts"] | None = None, conjunctions: int | None = None, scores: str | None = None) -> types.Predictions:
        """Predicts labels without learning.

        Formats, answers and limits are those of a prediction by a model. The session keeps its position. If it
        learns while lines of names arrive, later lines are predicted with what it has learnt by then.
        """
        return await self._send(Call("POST", f"/v1/sessions/{segment(id)}/predict", accept="application/json", query={"labels": labels, "positive": positive, "label_threshold": label_threshold, "weights": weights, "ignore": ignore, "kinds": kinds, "numbers": numbers, "bins": bins, "scale": scale, "missing": missing, "missing_values": missing_values, "unknown": unknown, "delimiter": delimiter, "comment": comment, "charset": charset, "decimal": decimal, "dates": dates, "sheet": sheet, "header": header, "encoding": encoding, "bit_order": bit_order, "n": n, "vocabulary": vocabulary, "first_index": first_index, "words": words, "characters": characters, "window": window, "lower_case": lower_case, "occurrences": occurrences, "conjunctions": conjunctions, "scores": scores}, body=body), types.Predictions)

    async def bound_compressed_error(self, *, examples: int, kept: int, errors: int | None = None, confidence: float | None = None) -> types.CompressionBound:
        """Returns the bound on the error of a hypothesis that a few of its examples reproduce (Littlestone and
        Warmuth).

        The bound holds for independent examples of any distribution. A hold-out gives a tighter bound.
        """
        return await self._send(Call("GET", "/v1/theory/compression", accept="application/json", query={"examples": examples, "kept": kept, "errors": errors, "confidence": confidence}), types.CompressionBound)

    async def count_dichotomies(self, *, points: int, dimension: int) -> types.Dichotomies:
        """Counts the dichotomies of points that hyperplanes through the origin make (Cover's theorem).

        The points must be in general position. The count is exact.
        """
        return await self._send(Call("GET", "/v1/theory/cover", accept="application/json", query={"points": points, "dimension": dimension}), types.Dichotomies)

    async def analyse_directed_drift(self, *, n: int, delta: float | None = None) -> types.DirectedDriftAnalysis:
        """Analyses Directed Drift exactly, without a simulation.

        The analysis assumes fresh and uniform positive examples.
        """
        return await self._send(Call("GET", "/v1/theory/directed-drift", accept="application/json", query={"n": n, "delta": delta}), types.DirectedDriftAnalysis)

    async def bound_perceptron_mistakes(self, *, radius: float, norm: float, margin: float) -> types.MistakeBound:
        """Returns Novikoff's bound on the mistakes of the perceptron, R^2 |u|^2 / xi^2.

        The bound holds for every sequence of examples that the separator u classifies with this margin.
        """
        return await self._send(Call("GET", "/v1/theory/novikoff", accept="application/json", query={"radius": radius, "norm": norm, "margin": margin}), types.MistakeBound)

    async def bound_mean_error(self, *, mistakes: int, examples: int, confidence: float | None = None) -> types.ProgressiveBound:
        """Returns the bound on the mean error of the hypotheses of a run (progressive validation).

        The bound holds at all times at once, for independent examples of any distribution.
        """
        return await self._send(Call("GET", "/v1/theory/progressive", accept="application/json", query={"mistakes": mistakes, "examples": examples, "confidence": confidence}), types.ProgressiveBound)

    async def get_stopping_threshold(self, *, n: int, confidence: float | None = None, sampling: Literal["uniform-positive", "reflected", "uniform"] | None = None, hypothesis: int | None = None) -> types.StoppingThresholds:
        """Returns the run lengths at which the stopping rules accept a hypothesis.

        A run length is the number of consecutive examples without a mistake.
        """
        return await self._send(Call("GET", "/v1/theory/stopping", accept="application/json", query={"n": n, "confidence": confidence, "sampling": sampling, "hypothesis": hypothesis}), types.StoppingThresholds)

    async def bound_surviving_error(self, *, run_length: int | None = None, error: float | None = None, hypothesis: int | None = None, confidence: float | None = None) -> types.SurvivalBound:
        """Returns the bound on the error of a surviving hypothesis, or the run length that proves an error.

        The bound holds for all hypotheses of a run at once, for independent examples of any distribution.
        """
        return await self._send(Call("GET", "/v1/theory/survival", accept="application/json", query={"run_length": run_length, "error": error, "hypothesis": hypothesis, "confidence": confidence}), types.SurvivalBound)

    async def bound_test_set_error(self, *, errors: int, examples: int, confidence: float | None = None) -> types.TestSetLimits:
        """Returns the exact confidence limits of an error after a test (Clopper and Pearson).

        The examples must be independent draws that the learner was not shown.
        """
        return await self._send(Call("GET", "/v1/theory/test-set", accept="application/json", query={"errors": errors, "examples": examples, "confidence": confidence}), types.TestSetLimits)

    async def bound_other_targets(self, *, n: int, examples: int | None = None, confidence: float | None = None, sampling: Literal["uniform-positive", "reflected", "uniform"] | None = None) -> types.UniquenessBound:
        """Returns the doubt that a consistent vector of binary weights is the target, or the examples that a
        confidence needs.

        The bound holds for independent uniform examples without noise, for any search that found the vector.
        """
        return await self._send(Call("GET", "/v1/theory/uniqueness", accept="application/json", query={"n": n, "examples": examples, "confidence": confidence, "sampling": sampling}), types.UniquenessBound)

    async def bound_winnow_mistakes(self, *, n: int, relevant: int, alpha: float | None = None, theta: str | None = None) -> types.MistakeBound:
        """Returns Winnow's mistake bound for disjunctions (Theorem 2 of Khardon, Roth and Servedio).

        The bound holds for every sequence of examples that a disjunction of `relevant` literals labels.
        """
        return await self._send(Call("GET", "/v1/theory/winnow", accept="application/json", query={"n": n, "relevant": relevant, "alpha": alpha, "theta": theta}), types.MistakeBound)

    async def list_workers(self) -> types.WorkerList:
        """Lists the live processes of the service, in the order of their starts.

        A process appears at its start and disappears when it stops. A process that dies disappears after 60
        seconds.
        """
        return await self._send(Call("GET", "/v1/workers", accept="application/json"), types.WorkerList)

    async def get_inference_server(self) -> types.InferenceServer:
        """Describes the server and the supported extensions of the protocol.

        The name and the version are those of the service.
        """
        return await self._send(Call("GET", "/v2", accept="application/json"), types.InferenceServer)

    async def check_inference_liveness(self) -> types.InferenceLive:
        """Tells whether the process is alive.

        The answer does not depend on the database. `GET /livez` is the same check without a key.
        """
        return await self._send(Call("GET", "/v2/health/live", accept="application/json"), types.InferenceLive)

    async def check_inference_readiness(self) -> types.InferenceReady:
        """Tells whether the service can answer requests.

        The service is not ready while the process stops or the store does not answer.
        """
        return await self._send(Call("GET", "/v2/health/ready", accept="application/json"), types.InferenceReady)

    async def get_inference_model(self, id: str) -> types.InferenceModel:
        """Describes the tensors of a model: `x` in, `prediction` and `score` out.

        The description has the metadata format of the Open Inference Protocol.
        """
        return await self._send(Call("GET", f"/v2/models/{segment(id)}", accept="application/json"), types.InferenceModel)

    async def infer_model(self, id: str, body: types.InferenceRequest | Content, *, inference_header_content_length: int | None = None) -> types.InferenceAnswer:
        """Predicts by the Open Inference Protocol: tensor `x` in, tensors `prediction` and `score` out.

        With the protocol's binary extension the tensor follows the JSON as octets. The header `Inference-Header-
        Content-Length` then gives the length of the JSON. The answer contains octets only if you ask for them.
        Parameters that are not listed here are refused. The tensors of an answer are limited to `answer_bytes_max`
        bytes.
        """
        return await self._send(Call("POST", f"/v2/models/{segment(id)}/infer", accept="application/json", header={"Inference-Header-Content-Length": inference_header_content_length}, body=body), types.InferenceAnswer)

    async def check_inference_model(self, id: str) -> types.InferenceModelReady:
        """Tells whether a model is ready. Every existing model is ready.

        An unknown id gets status 404.
        """
        return await self._send(Call("GET", f"/v2/models/{segment(id)}/ready", accept="application/json"), types.InferenceModelReady)

    async def get_inference_model_version(self, id: str, version: str) -> types.InferenceModel:
        """Describes the tensors of a named version of a model.

        A model never changes, so the only version is 1.
        """
        return await self._send(Call("GET", f"/v2/models/{segment(id)}/versions/{segment(version)}", accept="application/json"), types.InferenceModel)

    async def infer_model_version(self, id: str, version: str, body: types.InferenceRequest | Content, *, inference_header_content_length: int | None = None) -> types.InferenceAnswer:
        """Predicts by the Open Inference Protocol with a named version of the model.

        A model never changes, so the only version is 1.
        """
        return await self._send(Call("POST", f"/v2/models/{segment(id)}/versions/{segment(version)}/infer", accept="application/json", header={"Inference-Header-Content-Length": inference_header_content_length}, body=body), types.InferenceAnswer)

    async def check_inference_model_version(self, id: str, version: str) -> types.InferenceModelReady:
        """Tells whether a named version of a model is ready.

        A model never changes, so the only version is 1.
        """
        return await self._send(Call("GET", f"/v2/models/{segment(id)}/versions/{segment(version)}/ready", accept="application/json"), types.InferenceModelReady)

    async def get_version(self) -> types.Version:
        """Returns the name, the version and the revision of the service.

        All processes of one build give the same answer.
        """
        return await self._send(Call("GET", "/version", accept="application/json"), types.Version)
