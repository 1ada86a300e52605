//! The revision of this program.

/// The git revision of the sources, if it was known at the build. A build with `SOURCE_REVISION` has this
/// revision. Otherwise a release build in a git checkout has the revision of the checkout.
pub const REVISION: Option<&str> = match option_env!("SOURCE_REVISION") {
    Some(given) if !given.is_empty() => Some(given),
    _ => option_env!("CHECKOUT_REVISION"),
};
