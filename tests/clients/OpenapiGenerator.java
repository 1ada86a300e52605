import client.ApiClient;
import client.ApiException;
import client.api.JobsApi;
import client.api.ModelsApi;
import client.model.*;
import java.util.List;

/** The client that openapi-generator makes for Java: trains, waits, predicts and reads a problem.
 *
 * The argument is the address of the service. */
class OpenapiGenerator {
    static void check(boolean holds, Object value) {
        if (!holds) throw new AssertionError(value);
    }

    static LabelledExample example(String x, int y) {
        return new LabelledExample().x(x).y(y);
    }

    static Predictions predict(ModelsApi models, String model, Data data) throws ApiException {
        return models.predictModel(model, data, null, null, null, null, null, null, null, null, null, null,
            null, null, null, null, null, null);
    }

    public static void main(String[] arguments) throws Exception {
        ApiClient service = new ApiClient();
        service.updateBaseUri(arguments[0]);
        JobsApi jobs = new JobsApi(service);
        ModelsApi models = new ModelsApi(service);

        LabelledData examples = new LabelledData().examples(List.of(
            example("110", 1), example("011", 0), example("100", 1), example("001", 0)));
        PerceptronLearner perceptron = new PerceptronLearner().name(PerceptronLearner.NameEnum.PERCEPTRON)
            .params(new PerceptronLearnerParams().order(PerceptronLearnerParams.OrderEnum.CYCLIC));
        TrainRequest training = new TrainRequest().data(new Data().labelled(examples))
            .learner(new LearnerSpec(perceptron)).seed(1L << 40);
        Job job = jobs.createJob(new JobRequest().train(training), null, null);
        while (job.getStatus() == Status.QUEUED || job.getStatus() == Status.RUNNING) {
            job = jobs.getJob(job.getId(), "wait=10");
        }
        TrainResult result = job.getResult().getTrainResult();
        LinearHypothesis hypothesis = result.getHypothesis().getLinearHypothesis();
        check(hypothesis.getWeights().size() == 3 && result.getMistakes() > 0, result);
        check(result.getTermination().getReason().equals("converged"), result);

        UnlabelledData rows = new UnlabelledData().examples(List.of("100", "001"));
        Predictions answer = predict(models, result.getModel(), new Data().unlabelled(rows));
        check(answer.getPredictions().equals(List.of(1, -1)), answer);

        try {
            predict(models, result.getModel(), new Data().dataset("ds_018f0000000070008000000000000000"));
            throw new AssertionError("an unknown dataset is accepted");
        } catch (ApiException error) {
            Problem problem = service.getObjectMapper().readValue(error.getResponseBody(), Problem.class);
            check(problem.getStatus() == 422 && !problem.getDetail().isEmpty(), problem);
        }
        System.out.printf("openapi-generator, java: %d mistakes, %s%n", result.getMistakes(),
            result.getTermination().getReason());
    }
}
