//! Error places in a JSON body that requests a job. The checks of a job name a field, and this module knows
//! where the field stands in the body.

use halfspace_formats::Place;

use crate::http::jobs::submission::{FieldPaths, nested};
use crate::http::problem::{FieldError, placed};

/// Error places in a JSON body that requests a job.
pub struct JsonPlace {
    /// JSON pointer to the task.
    pub task: String,
    /// Place of the value that made the data real.
    pub first_real: Option<Place>,
}

impl JsonPlace {
    /// An error at this pointer.
    pub fn at(pointer: String, detail: String) -> FieldError {
        placed(Some(Place::Pointer(pointer)), detail)
    }

    fn below(&self, pointer: &str, detail: String) -> FieldError {
        Self::at(format!("{}/{pointer}", self.task), detail)
    }
}

impl FieldPaths for JsonPlace {
    fn job(&self, field: &str, detail: String) -> FieldError {
        Self::at(format!("/{field}"), detail)
    }

    fn learner(&self, detail: String) -> FieldError {
        self.below("learner/name", detail)
    }

    fn learner_parameter(&self, name: &str, detail: String) -> FieldError {
        self.below(&format!("learner/params/{}", nested(name)), detail)
    }

    fn stop(&self, field: &str, detail: String) -> FieldError {
        match field {
            "assume" => self.below("data", detail),
            field => self.below(&format!("stop/{field}"), detail),
        }
    }

    fn task(&self, field: &str, detail: String) -> FieldError {
        self.below(field, detail)
    }

    fn data(&self, detail: String) -> FieldError {
        let whole = Place::Pointer(String::new());
        let place = self.first_real.clone().unwrap_or(whole);
        placed(Some(place.under(&self.data_pointer())), detail)
    }

    fn data_pointer(&self) -> String {
        format!("{}/data", self.task)
    }
}
