//! Extractors: the parts of a request that handlers take as arguments. Every rejection is a problem document.

pub mod body;
pub mod data_body;
pub mod data_options;
pub mod form;
pub mod idempotency;
pub mod mending;
pub mod work;

use std::collections::HashSet;
use std::time::Duration;

use axum::extract::{FromRequestParts, OptionalFromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use halfspace_formats::{is_list, name_list, plain_words};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use utoipa::IntoParams;

use crate::records::id::{Id, Kind};
use crate::records::{Cursor, Owner, Page};

use crate::http::limits::{QUERY_PAIRS_MAX, WAIT_SECONDS_MAX};
use crate::http::problem::{Code, Problem};

/// The owner of the request, as found by [`crate::http::middleware::keys`].
pub struct Caller(pub Owner);

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let owner = parts.extensions.get::<Owner>().cloned();
        let defect = || {
            Problem::new(
                Code::INTERNAL,
                "The request has no owner because of a defect in the service.",
            )
        };
        owner.map(Self).ok_or_else(defect)
    }
}

/// The id in the path. An invalid id is answered with 404.
pub struct PathId<K>(pub Id<K>);

impl<K: Kind, S: Send + Sync> FromRequestParts<S> for PathId<K> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let PathText(text) = PathText::from_request_parts(parts, state).await?;
        let missing = |_| Problem::not_found(K::NOUN);
        text.parse().map(Self).map_err(missing)
    }
}

/// The one variable of the path as text.
pub struct PathText(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let text = <Path<String> as FromRequestParts<S>>::from_request_parts(parts, state).await;
        let Path(text) = text.map_err(|_| Problem::not_found("thing"))?;
        Ok(Self(text))
    }
}

/// Query parameters of a fixed shape. Unknown and repeated parameters are refused.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // The deserializer notices a repeated field but does not name the field.
        let given = query_pairs(parts.uri.query())?;
        let pairs = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let fields = serde_urlencoded::Deserializer::new(pairs);
        let read = serde_path_to_error::deserialize(fields);
        read.map(Self).map_err(|error| {
            let name = error.path().to_string();
            let detail = error.into_inner().to_string();
            let value = given.iter().find(|(known, _)| *known == name);
            let detail =
                number_fault(&detail, value.map_or("", |(_, value)| value)).unwrap_or(detail);
            match name.as_str() {
                "." => Problem::new(Code::INVALID_PARAMETER, detail),
                name => Problem::parameter(Code::INVALID_PARAMETER, name, detail),
            }
        })
    }
}

/// Rewords the standard library's error about a number for clients, who do not know its types.
fn number_fault(detail: &str, value: &str) -> Option<String> {
    let must = match detail {
        "invalid digit found in string" => "a whole number from 0",
        "invalid float literal" => "a number, such as 0.05 or 1e-9",
        "number too large to fit in target type" => "a number that the parameter can hold",
        "cannot parse integer from empty string" | "cannot parse float from empty string" => {
            return Some("the value is missing; give a number".to_owned());
        }
        _ => return None,
    };
    let shown: String = value.chars().take(40).collect();
    Some(format!("`{shown}` must be {must}"))
}

/// Checks that the query is empty, so that no parameter is ignored silently.
pub struct NoQuery;

impl<S: Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match query_pairs(parts.uri.query())?.first() {
            None => Ok(Self),
            Some((name, _)) => {
                let detail = "this operation has no query parameters";
                Err(Problem::parameter(Code::INVALID_PARAMETER, name, detail))
            }
        }
    }
}

/// Parses a number or truth value as JSON, and any other text as a string.
pub fn literal(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => json!(text),
    }
}

/// Converts a query parameter to its type. `name` is empty if the value is an object of named parameters.
///
/// # Errors
/// A problem that names the parameter.
pub fn parameter<T: DeserializeOwned>(name: &str, value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let name = if name.is_empty() { &path } else { name };
        let detail = plain_words(&error.inner().to_string());
        Problem::parameter(Code::INVALID_PARAMETER, name, detail)
    })
}

/// The decoded pairs of a query string. A name occurs once, but the items of lists of data options may come in several
/// pairs. Other repeated names and the character U+0000 in values are refused.
///
/// # Errors
/// The name at fault, or more pairs than [`QUERY_PAIRS_MAX`].
pub fn query_pairs(query: Option<&str>) -> Result<Vec<(String, String)>, Problem> {
    let query = query.unwrap_or_default().as_bytes();
    if percent_encoding::percent_decode(query)
        .decode_utf8()
        .is_err()
    {
        let detail = "The query is not UTF-8 after percent-decoding.";
        return Err(Problem::new(Code::INVALID_PARAMETER, detail));
    }
    if form_urlencoded::parse(query).count() as u64 > QUERY_PAIRS_MAX {
        let detail = format!("The URL has more pairs than query_pairs_max: {QUERY_PAIRS_MAX}.");
        return Err(Problem::new(Code::INVALID_PARAMETER, detail));
    }
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut names = HashSet::new();
    for (name, value) in form_urlencoded::parse(query) {
        // Not every database can store U+0000 in a text.
        if value.contains('\0') {
            let detail = "the character U+0000";
            return Err(Problem::parameter(Code::INVALID_PARAMETER, &name, detail));
        }
        if !names.insert(name.clone()) {
            if let Some((_, before)) = pairs
                .iter_mut()
                .find(|(own, _)| *own == name && is_list(own))
            {
                let is_whole = |items: &str| name_list(items).is_ok();
                if !is_whole(before) || !is_whole(&value) {
                    let detail = "a quote is not closed";
                    return Err(Problem::parameter(Code::INVALID_PARAMETER, &name, detail));
                }
                if !before.is_empty() {
                    before.push(',');
                }
                before.push_str(&value);
                continue;
            }
            let detail = "the parameter or header is given more than once";
            return Err(Problem::parameter(Code::INVALID_PARAMETER, &name, detail));
        }
        pairs.push((name.into_owned(), value.into_owned()));
    }
    Ok(pairs)
}

/// The preference `Prefer: wait=S` (RFC 7240), limited to [`WAIT_SECONDS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreferWait(pub Duration);

impl PreferWait {
    /// The response header that confirms the preference.
    pub fn applied(self) -> (HeaderName, String) {
        let name = HeaderName::from_static("preference-applied");
        (name, format!("wait={}", self.0.as_secs()))
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for PreferWait {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Problem> {
        Ok(preferred_wait(&parts.headers))
    }
}

/// The wait among the preferences. Unknown preferences are ignored, as the RFC demands.
fn preferred_wait(headers: &HeaderMap) -> Option<PreferWait> {
    let values = headers.get_all("prefer").iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let mut preferences = texts.flat_map(|text| text.split([',', ';']));
    let seconds = preferences.find_map(|preference| {
        let (name, value) = preference.split_once('=')?;
        let is_wait = name.trim().eq_ignore_ascii_case("wait");
        let seconds = value.trim().trim_matches('"').parse::<u64>().ok();
        seconds.filter(|_| is_wait)
    })?;
    let seconds = seconds.min(WAIT_SECONDS_MAX);
    Some(PreferWait(Duration::from_secs(seconds)))
}

/// The offered media type that matches the earliest range of the Accept header, or the first one without such a
/// header. Quality values are ignored.
///
/// # Errors
/// [`Code::NOT_ACCEPTABLE`] if the header accepts no offered type.
pub fn accepted(headers: &HeaderMap, offered: &[&'static str]) -> Result<&'static str, Problem> {
    let takes = |range: &str, media_type: &str| match range.split_once("/*") {
        Some(("*", "")) => true,
        Some((kind, "")) => media_type.split('/').next() == Some(kind),
        _ => range.eq_ignore_ascii_case(media_type),
    };
    let mut ranges = accept_ranges(headers).peekable();
    if ranges.peek().is_none() {
        return Ok(offered[0]);
    }
    let choice = ranges.find_map(|range| offered.iter().find(|offered| takes(range, offered)));
    choice.copied().ok_or_else(|| not_acceptable(offered))
}

/// The media ranges of the Accept header without their parameters.
fn accept_ranges(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::ACCEPT).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let ranges = texts.flat_map(|text| text.split(','));
    ranges.map(|range| range.split(';').next().unwrap_or_default().trim())
}

fn not_acceptable(offered: &[&str]) -> Problem {
    let detail = format!(
        "The answer is available as: {}. Name one of these types in Accept.",
        offered.join(", ")
    );
    Problem::new(Code::NOT_ACCEPTABLE, detail)
}

/// Selects the format of an answer by the URL, for links and browsers.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FormatQuery {
    /// Format of the answer. A media type without a wildcard in `Accept` overrides the parameter.
    pub format: Option<String>,
}

/// The offered media type that `format` names, unless the Accept header names another one. Without `format`,
/// [`accepted`] chooses.
///
/// # Errors
/// A format that the operation does not offer. [`Code::NOT_ACCEPTABLE`] if the header has no wildcard and accepts no
/// offered type.
pub fn chosen(
    format: Option<&str>,
    headers: &HeaderMap,
    offered: &[&'static str],
) -> Result<&'static str, Problem> {
    let Some(format) = format else {
        return accepted(headers, offered);
    };
    let named = offered.iter().find(|known| format_name(known) == format);
    let named = named.copied().ok_or_else(|| {
        let names: Vec<_> = offered.iter().map(|known| format_name(known)).collect();
        let detail = format!("{format:?} is not one of: {}", names.join(", "));
        Problem::parameter(Code::INVALID_PARAMETER, "format", detail)
    })?;
    let (mut is_open, mut is_absent) = (false, true);
    for range in accept_ranges(headers) {
        let specific = offered
            .iter()
            .find(|known| known.eq_ignore_ascii_case(range));
        if let Some(specific) = specific {
            return Ok(specific);
        }
        is_absent = false;
        is_open |= range.contains('*');
    }
    match is_open || is_absent {
        true => Ok(named),
        false => Err(not_acceptable(offered)),
    }
}

/// The value of `format` that selects a media type.
pub fn format_name(media_type: &str) -> &str {
    let (_, name) = media_type.split_once('/').unwrap_or_default();
    let name = name.strip_prefix("x-").unwrap_or(name);
    name.split('+').next().unwrap_or_default()
}

/// Selects a page of a list without filters.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Items per page; 20 when absent.
    #[param(minimum = 1, maximum = 100)]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    pub cursor: Option<String>,
}

/// A page of a list from the query parameters.
///
/// # Errors
/// A limit out of range, or a cursor of another list.
pub fn page<K: Kind>(limit: Option<u32>, cursor: Option<&str>) -> Result<Page<K>, Problem> {
    let limit = limit.unwrap_or(Page::<K>::LIMIT_DEFAULT);
    let limit_max = Page::<K>::LIMIT_MAX;
    if !(1..=limit_max).contains(&limit) {
        let detail = format!("{limit} is not from 1 to {limit_max}");
        return Err(Problem::parameter(Code::INVALID_PARAMETER, "limit", detail));
    }
    let after = cursor.map(str::parse::<Cursor<K>>).transpose();
    let wrong = |error: crate::records::ParseCursorError| {
        Problem::parameter(Code::INVALID_PARAMETER, "cursor", error.to_string())
    };
    Ok(Page::new(limit, after.map_err(wrong)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    use crate::http::problem::Occurrence;

    #[test]
    fn prefer_wait_is_found_among_other_preferences() {
        let wait = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("prefer", HeaderValue::from_static(text));
            preferred_wait(&headers).map(|wait| wait.0.as_secs())
        };
        assert_eq!(wait("wait=5"), Some(5));
        assert_eq!(wait("respond-async, Wait = 7"), Some(7));
        assert_eq!(wait("wait=600"), Some(60));
        assert_eq!(wait("wait=soon"), None);
    }

    #[test]
    fn query_with_a_repeated_name_is_refused() {
        assert!(query_pairs(Some("a=1&b=%20x&a=2")).is_err());
        assert!(query_pairs(Some("a=x%00")).is_err());
        let pairs = query_pairs(Some("a=1&b=%20x")).expect("pairs");
        assert_eq!(pairs[1], ("b".to_owned(), " x".to_owned()));
    }

    #[test]
    fn query_is_limited_to_query_pairs_max() {
        let query = |pairs: u64| {
            let pairs = (0..pairs).map(|number| format!("name{number}=1"));
            pairs.collect::<Vec<_>>().join("&")
        };
        let most = query(QUERY_PAIRS_MAX);
        let read = query_pairs(Some(&most)).expect("as many as may be");
        assert_eq!(read.len() as u64, QUERY_PAIRS_MAX);
        let refused = query_pairs(Some(&query(QUERY_PAIRS_MAX + 1))).expect_err("too many");
        let detail = refused.document(&Occurrence::default()).detail;
        assert!(detail.contains("query_pairs_max: 1000"), "{detail}");
        // An empty text between two separators is not a pair.
        assert!(query_pairs(Some(&"&".repeat(60_000))).is_ok());
    }
}
