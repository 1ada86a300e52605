/* The client that openapi-generator makes for TypeScript: trains, waits, predicts and reads a problem.
 *
 * The argument is the address of the service. The file is compiled in the folder of the client. */

import {
    Configuration, JobsApi, ModelsApi, ProblemFromJSON, ResponseError, Status, type JobResult,
} from './index';

declare const process: { argv: string[] };

function check(holds: boolean, value: unknown): asserts holds {
    if (!holds) throw new Error(JSON.stringify(value));
}

async function run(basePath: string) {
    const configuration = new Configuration({ basePath });
    const jobs = new JobsApi(configuration), models = new ModelsApi(configuration);
    const examples = [
        { x: '110', y: 1 }, { x: '011', y: 0 }, { x: '100', y: 1 }, { x: '001', y: 0 },
    ];
    let job = await jobs.createJob({ jobRequest: { train: {
        learner: { name: 'perceptron', params: { order: 'cyclic' } },
        data: { labelled: { examples } },
        seed: 1,
    } } });
    while (job.status === Status.Queued || job.status === Status.Running) {
        job = await jobs.getJob({ id: job.id, prefer: 'wait=10' });
    }
    const result: JobResult | null | undefined = job.result;
    check(result?.task === 'train', job);
    check(result.hypothesis?.kind === 'linear' && result.hypothesis.weights.length === 3, result);
    check(result.mistakes > 0 && result.termination.reason === 'converged', result);
    check(result.model != null, result);

    const answer = await models.predictModel({
        id: result.model, data: { unlabelled: { examples: [[1, 0, 0], [0, 0, 1]] } },
    });
    check(answer.predictions[0] === 1 && answer.predictions[1] === -1, answer);
    check(Number(answer.scores?.[0]) > 0, answer);

    const dataset = 'ds_018f0000000070008000000000000000';
    const refused = await models.predictModel({ id: result.model, data: { dataset } })
        .then(() => undefined, error => error);
    check(refused instanceof ResponseError, refused);
    const problem = ProblemFromJSON(await refused.response.json());
    check(problem.status === 422 && problem.detail !== '', problem);
    console.log(`openapi-generator, typescript-fetch: ${result.mistakes} mistakes, ` +
        result.termination.reason);
}

run(process.argv[2]);
