//! The setting that selects the database. It may hold a password, so it is stored unparsed, parsed only here, and
//! displayed only in parts that are known to be no secret.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use super::blobs::s3::SecretString;
use super::postgres::PostgresUrl;

/// The setting, unparsed.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

#[derive(Clone, Debug)]
pub enum DatabaseLocation {
    /// The embedded database, a file in the data directory.
    Sqlite,
    /// A shared PostgreSQL database.
    Postgres(PostgresUrl),
}

impl DatabaseUrl {
    /// The setting of the embedded database.
    pub fn embedded() -> Self {
        Self("sqlite".to_owned())
    }

    /// Parses the setting. `password` applies to a URL without one.
    ///
    /// # Errors
    /// The mistake in the setting, without any part that could be a password.
    pub fn place(&self, password: Option<&SecretString>) -> Result<DatabaseLocation, String> {
        if self.0 == "sqlite" {
            return Ok(DatabaseLocation::Sqlite);
        }
        if PostgresUrl::is_meant(&self.0) {
            let url = PostgresUrl::parse(&self.0)?;
            return Ok(DatabaseLocation::Postgres(match password {
                Some(password) => url.or_password(password.reveal()),
                None => url,
            }));
        }
        Err("the value must be sqlite or postgres://...".to_owned())
    }
}

impl FromStr for DatabaseUrl {
    type Err = Infallible;

    /// Accepts any text, because an error of the command-line parser would show the whole text.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

/// Displays the parts that are no secret.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place(None) {
            Ok(DatabaseLocation::Sqlite) => f.write_str("sqlite"),
            Ok(DatabaseLocation::Postgres(url)) => write!(f, "{url}"),
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
    fn database_url_is_read_and_shown_without_its_password() {
        let read = |text: &str| text.parse::<DatabaseUrl>().unwrap();
        assert!(matches!(
            read("sqlite").place(None),
            Ok(DatabaseLocation::Sqlite)
        ));
        let postgres = read("postgres://ada:s3cret@db/half");
        assert!(matches!(
            postgres.place(None),
            Ok(DatabaseLocation::Postgres(_))
        ));
        assert_eq!(format!("{postgres:?}"), "postgres://ada@db:5432/half");
        for wrong in ["", "sqlite:x", "mysql://ada:s3cret@db/half", "s3cret"] {
            let url = read(wrong);
            let told = url.place(None).map(|_| ()).unwrap_err();
            assert!(!told.contains("s3cret"), "{told}");
            assert_eq!(format!("{url:?}"), "...");
        }
    }
}
