//! Reading events, jobs and models, paging and filtering lists, and deleting and sweeping records.

use super::*;

pub(super) async fn events_are_read_from_a_number_on(backend: &dyn Backend) {
    let store = open(backend).await;
    let lease = claimed(&store, LONG).await;
    for second in 0..5 {
        let progress = Progress {
            examples: second as u64,
            ..Progress::default()
        };
        store
            .heartbeat(&lease, &beating(Some(&progress)), at(second))
            .await
            .unwrap();
    }
    store.finish_job(&lease, &success(1)).await.unwrap();
    let all = events(&store, lease.job).await;
    assert_eq!(all.len(), 9);
    for after in 0..=9 {
        let rest = store
            .events(Some(&owner()), lease.job, after, 1_000)
            .await
            .unwrap();
        assert_eq!(rest, all[after as usize..]);
        let three = store.events(None, lease.job, after, 3).await.unwrap();
        assert_eq!(three, all[after as usize..(after as usize + 3).min(9)]);
    }
    let stranger = Owner::new("other");
    assert_eq!(
        store
            .events(Some(&stranger), lease.job, 0, 10)
            .await
            .unwrap(),
        []
    );
    assert_eq!(store.events(None, job(2).id, 0, 10).await.unwrap(), []);
}

pub(super) async fn job_pages_neither_repeat_nor_skip(backend: &dyn Backend) {
    let store = open(backend).await;
    for number in 1..=55 {
        store.insert_job(&job(number), None).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut page = Page::<JobKind>::default();
    for (count, newcomer) in [(20, 60), (20, 61), (15, 62)] {
        let slice = store
            .jobs(&owner(), &JobFilter::default(), &page, |_| ())
            .await
            .unwrap();
        assert_eq!(slice.items.len(), count);
        seen.extend(slice.items.iter().map(|job| job.id));
        store.insert_job(&job(newcomer), None).await.unwrap();
        assert_eq!(slice.next.is_some(), count == 20);
        // The cursor passes through its text form, as in a client's request.
        let after = slice.next.map(|cursor| cursor.to_string().parse().unwrap());
        page = Page::new(20, after);
    }
    let expected: Vec<_> = (1..=55).rev().map(|number| job(number).id).collect();
    assert_eq!(seen, expected);
    let slice = store
        .jobs(&owner(), &JobFilter::default(), &Page::new(3, None), |_| ())
        .await
        .unwrap();
    let newest: Vec<_> = slice.items.iter().map(|job| job.id).collect();
    assert_eq!(newest, [62, 61, 60].map(|number| job(number).id));
}

pub(super) async fn job_lists_are_filtered(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1), None).await.unwrap();
    store
        .insert_job(
            &Job {
                learner: Some("winnow".into()),
                ..job(2)
            },
            None,
        )
        .await
        .unwrap();
    store
        .insert_job(
            &Job {
                task: "experiment".into(),
                learner: None,
                ..job(3)
            },
            None,
        )
        .await
        .unwrap();
    store
        .insert_ended_job(&ended_job(4), None, None, None)
        .await
        .unwrap();
    let status = |status| JobFilter {
        status: Some(status),
        ..JobFilter::default()
    };
    let task = |task: &str| JobFilter {
        task: Some(task.into()),
        ..JobFilter::default()
    };
    let learner = |name: &str| JobFilter {
        learner: Some(name.into()),
        ..JobFilter::default()
    };
    for (filter, expected) in [
        (JobFilter::default(), vec![4, 3, 2, 1]),
        (status(Status::Queued), vec![3, 2, 1]),
        (status(Status::Succeeded), vec![4]),
        (status(Status::Failed), vec![]),
        (task("experiment"), vec![3]),
        (learner("winnow"), vec![2]),
        (learner("' OR 1 = 1 --"), vec![]),
        (
            JobFilter {
                learner: Some("perceptron".into()),
                ..status(Status::Queued)
            },
            vec![1],
        ),
    ] {
        let slice = store
            .jobs(&owner(), &filter, &Page::default(), |_| ())
            .await
            .unwrap();
        let found: Vec<_> = slice.items.iter().map(|job| job.id).collect();
        let expected: Vec<_> = expected.into_iter().map(|number| job(number).id).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
}

pub(super) async fn owners_do_not_see_jobs_and_models_of_others(backend: &dyn Backend) {
    let store = open(backend).await;
    store
        .insert_ended_job(&ended_job(1), Some(&model(1)), Some(b"curve"), None)
        .await
        .unwrap();
    let stranger = Owner::new("other");
    let (job, model) = (job(1).id, model(1).summary.id);
    assert_eq!(store.find(&stranger, job).await.unwrap(), None);
    assert_eq!(store.trace(&stranger, job).await.unwrap(), None);
    assert_eq!(
        store.delete_job(&stranger, job).await.unwrap(),
        DeleteOutcome::NotFound
    );
    let jobs = store
        .jobs(&stranger, &JobFilter::default(), &Page::default(), |_| ())
        .await
        .unwrap();
    assert_eq!(jobs.items, []);
    assert_eq!(store.find(&stranger, model).await.unwrap(), None);
    assert!(!store.delete(&stranger, model).await.unwrap());
    let models = store
        .models(&stranger, &ModelFilter::default(), &Page::default())
        .await
        .unwrap();
    assert_eq!(models.items, []);
    assert!(store.find(&owner(), model).await.unwrap().is_some());
}

pub(super) async fn only_ended_jobs_are_deleted(backend: &dyn Backend) {
    let store = open(backend).await;
    let delete = async |id| store.delete_job(&owner(), id).await.unwrap();
    store.insert_job(&job(1), None).await.unwrap();
    assert_eq!(delete(job(1).id).await, DeleteOutcome::NotEnded);
    let lease = claim(&store, "a", LONG).await.unwrap().lease;
    assert_eq!(delete(job(1).id).await, DeleteOutcome::NotEnded);
    store.finish_job(&lease, &success(1)).await.unwrap();
    let data_key = job(1).data_key;
    assert_eq!(delete(job(1).id).await, DeleteOutcome::Deleted { data_key });
    assert_eq!(delete(job(1).id).await, DeleteOutcome::NotFound);
    assert_eq!(store.find(&owner(), job(1).id).await.unwrap(), None);
    assert_eq!(store.events(None, job(1).id, 0, 10).await.unwrap(), []);
    assert_eq!(store.trace(&owner(), job(1).id).await.unwrap(), None);
    // The model outlives its job.
    assert_eq!(
        store.find(&owner(), model(1).summary.id).await.unwrap(),
        Some(model(1))
    );
}

pub(super) async fn sweep_takes_the_oldest_ended_jobs_first(backend: &dyn Backend) {
    let store = open(backend).await;
    store.insert_job(&job(1), None).await.unwrap();
    for number in 2..=5 {
        store
            .insert_ended_job(&ended_job(number), Some(&model(number)), None, None)
            .await
            .unwrap();
    }
    store
        .insert_ended_job(
            &Job {
                data_key: None,
                ..ended_job(6)
            },
            None,
            None,
            None,
        )
        .await
        .unwrap();
    let keys = |numbers: &[i64]| -> Vec<String> {
        numbers
            .iter()
            .filter_map(|&number| job(number).data_key)
            .collect()
    };
    assert_eq!(
        store.data_keys_in_use(None, 100).await.unwrap(),
        keys(&[1]),
        "what has ended needs its data no more"
    );
    // Job n ended at second n + 1.
    let mut swept = store.sweep_jobs(at(5), 1).await.unwrap();
    assert_eq!(
        swept,
        Swept {
            jobs: 1,
            data_keys: keys(&[2])
        }
    );
    swept = store.sweep_jobs(at(5), 10).await.unwrap();
    assert_eq!(
        swept,
        Swept {
            jobs: 1,
            data_keys: keys(&[3])
        }
    );
    assert_eq!(store.sweep_jobs(at(5), 10).await.unwrap(), Swept::default());
    for number in 7..=8 {
        store.insert_job(&job(number), None).await.unwrap();
    }
    let all = store.data_keys_in_use(None, 2).await.unwrap();
    assert_eq!(all, keys(&[1, 7]));
    assert_eq!(
        store.data_keys_in_use(Some(&all[1]), 2).await.unwrap(),
        keys(&[8])
    );
    swept = store.sweep_jobs(at(1_000), 10).await.unwrap();
    assert_eq!((swept.jobs, swept.data_keys.len()), (3, 2));
    // A queued job is never swept, at any age.
    assert_eq!(get(&store, job(1).id).await.status, Status::Queued);
    assert!(
        store
            .find(&owner(), model(2).summary.id)
            .await
            .unwrap()
            .is_some()
    );
}

pub(super) async fn models_are_kept_listed_and_deleted(backend: &dyn Backend) {
    let store = open(backend).await;
    for number in 1..=3 {
        store.insert(&model(number), None).await.unwrap();
    }
    let mut winnow = model(4);
    winnow.summary.kind = "winnow".into();
    winnow.summary.learner = "winnow".into();
    winnow.summary.job = None;
    store.insert(&winnow, None).await.unwrap();
    store
        .insert(
            &Model {
                document: "null".to_owned(),
                ..winnow.clone()
            },
            None,
        )
        .await
        .unwrap();
    assert_eq!(
        store.find(&owner(), winnow.summary.id).await.unwrap(),
        Some(winnow.clone())
    );
    let first = store
        .models(&owner(), &ModelFilter::default(), &Page::new(3, None))
        .await
        .unwrap();
    let ids = |items: &[ModelSummary]| items.iter().map(|model| model.id).collect::<Vec<_>>();
    assert_eq!(
        ids(&first.items),
        [4, 3, 2].map(|number| model(number).summary.id)
    );
    assert_eq!(
        (first.items[0].kind.as_str(), first.items[0].job),
        ("winnow", None)
    );
    let rest = Page::new(3, first.next);
    let rest = store
        .models(&owner(), &ModelFilter::default(), &rest)
        .await
        .unwrap();
    assert_eq!(
        (ids(&rest.items), rest.next),
        (vec![model(1).summary.id], None)
    );
    for filter in [
        ModelFilter {
            kind: Some("winnow".into()),
            ..ModelFilter::default()
        },
        ModelFilter {
            learner: Some("winnow".into()),
            ..ModelFilter::default()
        },
    ] {
        let found = store
            .models(&owner(), &filter, &Page::default())
            .await
            .unwrap();
        assert_eq!(ids(&found.items), [winnow.summary.id]);
    }
    assert!(store.delete(&owner(), winnow.summary.id).await.unwrap());
    assert!(!store.delete(&owner(), winnow.summary.id).await.unwrap());
    assert_eq!(store.find(&owner(), winnow.summary.id).await.unwrap(), None);
}
