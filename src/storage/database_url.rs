//! Which database holds the records, as it was set. The setting may hold a password, so it is kept
//! unread until it is read here, and what is shown of it is only what is known to be no secret.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use super::postgres::PostgresUrl;

/// The setting.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

/// Where the records are.
#[derive(Clone, Debug)]
pub enum Place {
    /// In the embedded database, a file in the data directory.
    Sqlite,
    /// In a shared one.
    Postgres(PostgresUrl),
}

impl DatabaseUrl {
    /// What was set.
    ///
    /// # Errors
    /// What is wrong with it, without any part of it that could be a password.
    pub fn place(&self) -> Result<Place, String> {
        if self.0 == "sqlite" {
            return Ok(Place::Sqlite);
        }
        if PostgresUrl::is_meant(&self.0) {
            return PostgresUrl::parse(&self.0).map(Place::Postgres);
        }
        Err("neither sqlite nor postgres://...".to_owned())
    }
}

impl FromStr for DatabaseUrl {
    type Err = Infallible;

    /// Takes any text: who refuses one while reading a command line shows it whole.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

/// What may be shown.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place() {
            Ok(Place::Sqlite) => f.write_str("sqlite"),
            Ok(Place::Postgres(url)) => write!(f, "{url}"),
            Err(_) => f.write_str("..."),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_read_and_never_shown_whole() {
        let read = |text: &str| text.parse::<DatabaseUrl>().unwrap();
        assert!(matches!(read("sqlite").place(), Ok(Place::Sqlite)));
        let postgres = read("postgres://ada:s3cret@db/half");
        assert!(matches!(postgres.place(), Ok(Place::Postgres(_))));
        assert_eq!(format!("{postgres:?}"), "postgres://ada@db:5432/half");
        for wrong in ["", "sqlite:x", "mysql://ada:s3cret@db/half", "s3cret"] {
            let url = read(wrong);
            let told = url.place().map(|_| ()).unwrap_err();
            assert!(!told.contains("s3cret"), "{told}");
            assert_eq!(format!("{url:?}"), "...");
        }
    }
}
