//! Authentication: finds the owner of a request by its API key, and ends the request when the key is revoked. As soon
//! as the operator has created a key, every path below `/v1` and `/v2` needs one.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::http::app_state::App;
use crate::http::middleware::cut_off::{Exchange, while_in_force};

/// Finds the owner of a request for the handlers, or refuses the request.
///
/// Revoking the key ends a running request: with a problem if the response has not begun, and otherwise as
/// [`while_in_force`] ends its body.
pub async fn authenticate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    if !needs_key(request.uri().path()) {
        return next.run(request).await;
    }
    let access = match app.authenticator.access(request.headers()).await {
        Ok(access) => access,
        Err(problem) => return problem.into_response(),
    };
    let exchange = Exchange::of(&request);
    exchange.facts().set_owner(access.owner());
    request.extensions_mut().insert(access.owner().clone());
    request.extensions_mut().insert(access.clone());
    let response = tokio::select! {
        biased;
        response = next.run(request) => response,
        problem = access.ended() => {
            exchange.facts().set_cut_off();
            return problem.into_response();
        }
    };
    while_in_force(response, access, exchange)
}

/// Whether a path is below `/v1` or `/v2`.
pub fn needs_key(path: &str) -> bool {
    let is_below = |root: &str| {
        let rest = path.strip_prefix(root);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_below("/v1") || is_below("/v2")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operator_paths_need_no_key() {
        for path in ["/v1", "/v1/jobs", "/v2/health/live", "/v1/none"] {
            assert!(needs_key(path), "{path}");
        }
        for path in [
            "/livez",
            "/metrics",
            "/openapi.json",
            "/docs/",
            "/",
            "/v11",
            "/problems/v1",
        ] {
            assert!(!needs_key(path), "{path}");
        }
    }
}
