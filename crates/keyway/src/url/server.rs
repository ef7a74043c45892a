//! What URLs of servers have in common: who, and where.

use super::{decoded, not_decodable};
use data::{Error, ErrorKind, Result};

/// A user and a password.
pub(super) type Credentials = (Option<String>, Option<String>);

/// What stands before the last `@`, and what behind it.
pub(super) fn who_and_where(address: &str) -> Result<(Credentials, &str)> {
    let Some((credentials, hosts)) = address.rsplit_once('@') else {
        return Ok(((None, None), address));
    };
    let (user, password) = credentials.split_once(':').ok_or_else(|| {
        let message = "a password stands behind a colon: `USER:PASSWORD@HOST`";
        Error::new(ErrorKind::Argument, message)
    })?;
    let text = |text| String::from_utf8(decoded(text)?).map_err(|_| not_decodable());
    let user = Some(text(user)?).filter(|user| !user.is_empty());
    Ok(((user, Some(text(password)?)), hosts))
}

/// `host:port`, `[::1]:port`, or a host alone, which has the usual port; a URL without one is
/// refused with this message.
pub(super) fn host_and_port(
    address: &str,
    usual: u16,
    without: &'static str,
) -> Result<(String, u16)> {
    let refused = || Error::new(ErrorKind::Argument, without);
    let (host, port) = match address.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, rest))) => (host, rest.strip_prefix(':').unwrap_or(rest)),
        Some(None) => return Err(refused()),
        None => address.split_once(':').unwrap_or((address, "")),
    };
    if host.is_empty() {
        return Err(refused());
    }
    match port {
        "" => Ok((host.to_string(), usual)),
        port => {
            let message = "a port is a number up to 65535";
            let port = port.parse().map_err(|_| Error::new(ErrorKind::Argument, message))?;
            Ok((host.to_string(), port))
        }
    }
}
