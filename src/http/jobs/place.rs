//! Where a fault stands in the document that requests a job or a session. The checks name only a field; the pointer
//! to it is made here.
//!
//! The query of a training is such a document too: its fields are parameters with dotted names, so a place there is the
//! same pointer, written as a parameter.

use halfspace_formats::Place;

use crate::records::grid::GridCell;

use crate::http::problem::{FieldError, placed};

/// The fields of a job's document that stand beside its task.
const BESIDE_TASK: [&str; 3] = ["name", "callback", "priority"];

/// The place of a task in the document of a request.
#[derive(Clone)]
pub struct TaskPlace {
    /// Pointer to the task.
    task: String,
    /// Pointer to the learner.
    learner: String,
    /// Pointer to the data, unless the body is the data.
    data: Option<String>,
    /// Pointer to the declaration about the data.
    assume: String,
    /// Place, in the data, of the value that made the data real.
    first_real: Option<Place>,
    /// The training of a grid, whose values stand in the lists of the grid.
    cell: Option<Box<GridCell>>,
    /// Whether the options of the data are parameters of the query although the task is in the body.
    has_query: bool,
}

impl TaskPlace {
    /// The place of a task at this pointer of a body.
    pub fn in_body(task: &str, first_real: Option<Place>) -> Self {
        Self {
            task: task.to_owned(),
            learner: format!("{task}/learner"),
            data: Some(format!("{task}/data")),
            assume: format!("{task}/data"),
            first_real,
            cell: None,
            has_query: false,
        }
    }

    /// The place of a training whose settings are the query and whose body is the data.
    pub fn in_query(first_real: Option<Place>) -> Self {
        Self {
            data: None,
            assume: "/train/assume".to_owned(),
            ..Self::in_body("/train", first_real)
        }
    }

    /// The place of the learner and the settings of a session.
    pub fn of_session() -> Self {
        Self {
            data: Some("/values".to_owned()),
            assume: "/assume".to_owned(),
            ..Self::in_body("", None)
        }
    }

    /// The place of an import whose body names the object, and whose query has the options of the data.
    pub fn of_source() -> Self {
        Self {
            has_query: true,
            ..Self::in_body("", None)
        }
    }

    /// An error of an option for reading the data of an import.
    pub fn data_option(&self, name: &str, detail: String) -> FieldError {
        match self.has_query {
            true => FieldError::at_parameter(name, detail),
            false => {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                self.below(&format!("/parameters/{escaped}"), detail)
            }
        }
    }

    /// The place of one training of a grid.
    #[must_use]
    pub fn of_cell(&self, cell: Box<GridCell>) -> Self {
        Self {
            cell: Some(cell),
            ..self.clone()
        }
    }

    /// The place of one learner of a comparison.
    #[must_use]
    pub fn of_compared(&self, number: usize) -> Self {
        Self {
            learner: format!("{}/learners/{number}", self.task),
            ..self.clone()
        }
    }

    /// An error at a pointer into the document.
    pub fn at(&self, pointer: &str, detail: impl Into<String>) -> FieldError {
        match self.data {
            Some(_) => FieldError::at_pointer(pointer, detail),
            None => FieldError::at_parameter(&parameter(pointer), detail.into()),
        }
    }

    /// An error at the pointer `below` the task.
    pub fn below(&self, below: &str, detail: impl Into<String>) -> FieldError {
        self.at(&format!("{}{below}", self.task), detail)
    }

    /// An error at a field of the task. Dots separate nested names.
    pub fn field(&self, field: &str, detail: impl Into<String>) -> FieldError {
        let own = self.cell.as_ref().and_then(|cell| cell.pointer(field));
        if let Some(own) = own {
            return self.at(&format!("/grid/over{own}"), detail);
        }
        let escaped = field.replace('~', "~0").replace('/', "~1");
        let pointer = match escaped.strip_prefix("learner.") {
            Some(below) => format!("{}/{below}", self.learner),
            None => format!("{}/{escaped}", self.task),
        };
        self.at(&pointer.replace('.', "/"), detail)
    }

    /// An error of the learner's name.
    pub fn learner(&self, detail: String) -> FieldError {
        self.field("learner.name", detail)
    }

    /// An error of a parameter of the learner, by its dotted name.
    pub fn learner_parameter(&self, name: &str, detail: String) -> FieldError {
        self.field(&format!("learner.params.{name}"), detail)
    }

    /// An error of a stopping condition, or of the declaration that it needs.
    pub fn stop(&self, field: &str, detail: String) -> FieldError {
        match field {
            "assume" => self.at(&self.assume, detail),
            field => self.field(&format!("stop.{field}"), detail),
        }
    }

    /// An error of the data, at the value that made them unfit if that is known.
    pub fn data(&self, detail: String) -> FieldError {
        let place = self.first_real.clone();
        let Some(data) = &self.data else {
            return placed(place, detail);
        };
        let place = place.unwrap_or(Place::Pointer(String::new()));
        placed(Some(place.under(data)), detail)
    }

    /// Pointer to the data in the body. Empty if the body is the data.
    pub fn data_pointer(&self) -> &str {
        self.data.as_deref().unwrap_or_default()
    }
}

/// The dotted path of a training's query parameter in the document of its job.
pub fn path(parameter: &str) -> String {
    match parameter.split('.').next() {
        Some("params") => format!("train.learner.{parameter}"),
        Some(first) if BESIDE_TASK.contains(&first) => parameter.to_owned(),
        _ => format!("train.{parameter}"),
    }
}

/// The query parameter for a path or pointer of the document: the reverse of [`path`].
pub fn parameter(pointer: &str) -> String {
    let path = pointer.trim_start_matches('/').replace('/', ".");
    let path = path.replace("~1", "/").replace("~0", "~");
    let below = path.strip_prefix("train.").unwrap_or(&path);
    below.strip_prefix("learner.").unwrap_or(below).to_owned()
}
