//! The client that openapi-generator makes for Rust: trains, waits, predicts and reads a problem.
//!
//! The argument is the address of the service.

use client::apis::configuration::Configuration;
use client::apis::models_api::PredictModelError;
use client::apis::{Error, ResponseContent, jobs_api, models_api};
use client::models::{
    Data, HypothesisDocument, JobRequest, JobResult, LabelledData, LabelledExample, LearnerSpec,
    PerceptronLearner, Status, TrainRequest, UnlabelledData,
};

fn bits(text: &str) -> serde_json::Value {
    text.into()
}

fn main() {
    let mut service = Configuration::new();
    service.base_path = std::env::args().nth(1).unwrap();

    let examples = [("110", 1), ("011", 0), ("100", 1), ("001", 0)];
    let examples = examples.map(|(x, y)| LabelledExample::new(bits(x), y));
    let labelled = LabelledData::new(examples.to_vec());
    let data = Data { labelled: Some(Box::new(labelled)), ..Data::new() };
    let learner = LearnerSpec::Perceptron(Box::new(PerceptronLearner::default()));
    let mut training = TrainRequest::new(data, learner);
    training.seed = Some(Some(1 << 40));
    let request = JobRequest { train: Some(Box::new(training)), ..JobRequest::new() };
    let mut job = jobs_api::create_job(&service, request, None, None).unwrap();
    while matches!(job.status, Status::Queued | Status::Running) {
        job = jobs_api::get_job(&service, &job.id, Some("wait=10")).unwrap();
    }
    let JobResult::Train(result) = *job.result.flatten().unwrap() else { panic!("another result") };
    let hypothesis = *result.hypothesis.flatten().unwrap();
    let HypothesisDocument::Linear(hypothesis) = hypothesis else { panic!("{hypothesis:?}") };
    assert!(hypothesis.weights.len() == 3 && result.mistakes > 0);
    assert_eq!(result.termination.reason, "converged");

    let model = result.model.flatten().unwrap();
    let predict = |data| {
        models_api::predict_model(
            &service, &model, data, None, None, None, None, None, None, None, None, None, None, None, None,
            None, None, None, None,
        )
    };
    let rows = UnlabelledData::new(vec![bits("100"), bits("001")]);
    let answer = predict(Data { unlabelled: Some(Box::new(rows)), ..Data::new() }).unwrap();
    assert_eq!(answer.predictions, [1, -1]);

    let dataset = Some("ds_018f0000000070008000000000000000".to_owned());
    match predict(Data { dataset, ..Data::new() }) {
        // The enum of the problems has no tags, so each problem decodes as the first variant.
        Err(Error::ResponseError(ResponseContent { entity: Some(PredictModelError::Status400(problem)), .. })) => {
            assert!(problem.status == 422 && !problem.detail.is_empty(), "{problem:?}");
        }
        answer => panic!("{answer:?}"),
    }
    println!("openapi-generator, rust: {} mistakes, {}", result.mistakes, result.termination.reason);
}
