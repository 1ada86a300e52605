//! The address of a PostgreSQL database. It may hold a password, which is never displayed.

use std::fmt;

use sqlx::postgres::PgConnectOptions;

/// The accepted query parameters, as in libpq. Other parameters are refused and not ignored.
const PARAMETERS: [&str; 12] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// A checked address, `postgres://user:password@host:port/database?sslmode=...`.
#[derive(Clone)]
pub struct PostgresUrl {
    options: Box<PgConnectOptions>,
    has_password: bool,
}

impl PostgresUrl {
    /// Whether a text has the scheme of such an address.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Parses an address. Absent parts come from `PGHOST` and similar variables, and the password may also come from
    /// libpq's password file.
    ///
    /// # Errors
    /// The mistake in the address, without any part that could be a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (_, address) = text.split_once("://").ok_or("the URL has no ://")?;
        let authority_end = address.find(['/', '?', '#']).unwrap_or(address.len());
        if address[authority_end..].contains('@') {
            // Otherwise the text after a slash in a password would count as the database and be displayed.
            return Err(
                "an @ follows the host; in a user name or password write /, ?, # and @ as %2F, \
                 %3F, %23 and %40"
                    .to_owned(),
            );
        }
        let query = address.split_once('?').map_or("", |(_, query)| query);
        let user = address[..authority_end].rsplit_once('@');
        let mut has_password = user.is_some_and(|(user, _)| user.contains(':'));
        for (name, _) in form_urlencoded::parse(query.as_bytes()) {
            let name = name.split('[').next().unwrap_or_default();
            has_password |= name == "password";
            if !PARAMETERS.contains(&name) {
                let known = PARAMETERS.join(", ");
                return Err(format!(
                    "unknown parameter {name}; the parameters are: {known}"
                ));
            }
        }
        let options: PgConnectOptions = text.parse().map_err(|error| match error {
            sqlx::Error::Configuration(cause) => cause.to_string(),
            other => other.to_string(),
        })?;
        Ok(Self {
            options: Box::new(options),
            has_password,
        })
    }

    /// The address with this password, unless it has one of its own.
    #[must_use]
    pub fn or_password(mut self, password: &str) -> Self {
        if !self.has_password {
            *self.options = self.options.password(password);
            self.has_password = true;
        }
        self
    }

    /// The options in the driver's type.
    pub(super) fn options(&self) -> PgConnectOptions {
        (*self.options).clone()
    }
}

/// The address without its password and parameters.
impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.options;
        write!(f, "postgres://{}@", options.get_username())?;
        match options.get_socket() {
            Some(socket) => write!(f, "[{}]", socket.display())?,
            None => write!(f, "{}", options.get_host())?,
        }
        // The server's default for an absent database is the user name.
        let database = options.get_database().unwrap_or(options.get_username());
        write!(f, ":{}/{database}", options.get_port())
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_url_is_shown_without_its_password() {
        for (text, shown) in [
            (
                "postgres://ada:s3cret@db.example:5433/half",
                "postgres://ada@db.example:5433/half",
            ),
            (
                "postgresql://ada:s3%2Fcr%40et@db.example/half?sslmode=require",
                "postgres://ada@db.example:5432/half",
            ),
            (
                "postgres://db.example/half?user=ada&password=s3cret",
                "postgres://ada@db.example:5432/half",
            ),
            (
                "postgres:///half?host=/run/postgresql&user=ada&password=s3cret",
                "postgres://ada@[/run/postgresql]:5432/half",
            ),
        ] {
            let url = PostgresUrl::parse(text).unwrap();
            assert_eq!(url.to_string(), shown, "{text}");
            assert_eq!(format!("{url:?}"), shown, "{text}");
        }
    }

    #[test]
    fn wrong_postgres_url_is_refused_without_its_password() {
        for text in [
            // An unencoded password changes the meaning of the address.
            "postgres://ada:12/s3cret@db.example/half",
            "postgres://ada:12?s3cret@db.example/half",
            "postgres://ada:12#s3cret@db.example/half",
            "postgres://ada:pw/s3cret@db.example/half",
            "postgres://ada:s3cret@db.example:port/half",
            "postgres://ada:s3cret@db.example/half?sslmode=perhaps",
            "postgres://ada:s3cret@db.example/half?port=many",
            "postgres://ada:s3cret@[::1/half",
        ] {
            let refused = PostgresUrl::parse(text).map(|url| url.to_string());
            let told = refused.expect_err(text);
            assert!(!told.contains("s3cret"), "{told}");
        }
        let told = PostgresUrl::parse("postgres://h/d?pasword=s3cret").map(|_| ());
        let told = told.unwrap_err();
        assert!(
            told.contains("pasword") && !told.contains("s3cret"),
            "{told}"
        );
    }
}
