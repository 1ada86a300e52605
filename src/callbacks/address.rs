//! The addresses that a callback may connect to.
//!
//! A client chooses the URL of its callback, but the service connects from inside the operator's network, where many
//! servers trust every internal client. It therefore connects only to the public Internet and to networks that the
//! operator permits. What is not public follows the IANA special-purpose registries (RFC 6890, as of 2025), plus the
//! further addresses at which some clouds serve credentials to their machines. IPv6 allocates only 2000::/3, so we
//! reject the rest of it without a list.
//!
//! Some IPv6 addresses embed an IPv4 address. An IPv4-mapped address is treated as IPv4, because the system connects it
//! so. An address with the NAT64 prefix of RFC 6052 is public if the IPv4 address in its last 32 bits is; to permit
//! another one, the operator must name its IPv6 network. The other embeddings are 6to4, Teredo, IPv4-compatible,
//! IPv4-translated and NAT64 within one network; no useful receiver is behind those, so none counts as public. Two
//! things escape this check: a public address that leads back inside, and a NAT64 prefix that the operator chose.
//!
//! We do not use `ip_network` 0.4, which takes every IPv6 address for global that no rule of its own excludes, also
//! outside of 2000::/3: an example in its documentation is 0:0:1c9::afc8:0:1.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::{IpNet, Ipv6Net};

/// The networks that callbacks may connect to besides the public Internet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed(Vec<IpNet>);

/// An address that callbacks must not connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the service does not connect to {address}: {kind}; the operator permits networks with --callback-allow"
)]
pub struct RefusedAddress {
    pub address: IpAddr,
    /// The kind of the address, such as "loopback".
    pub kind: &'static str,
}

impl Allowed {
    /// Permits the public Internet and these networks.
    #[must_use]
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    /// Checks whether callbacks may connect to an address.
    ///
    /// # Errors
    /// [`RefusedAddress`] with the kind of the address.
    pub fn check(&self, address: IpAddr) -> Result<(), RefusedAddress> {
        // The system connects an IPv4-mapped address as the IPv4 address inside it.
        let address = address.to_canonical();
        if self.0.iter().any(|network| network.contains(&address)) {
            return Ok(());
        }
        special(address).map_or(Ok(()), |kind| Err(RefusedAddress { address, kind }))
    }
}

/// The kind of an address outside the public Internet; `None` for a public address.
fn special(address: IpAddr) -> Option<&'static str> {
    let mut table = SPECIAL.iter();
    if let Some((_, kind)) = table.find(|(network, _)| network.contains(&address)) {
        return Some(kind);
    }
    let IpAddr::V6(within) = address else {
        return None;
    };
    if NAT64.contains(&within) {
        let [.., a, b, c, d] = within.octets();
        return special(IpAddr::V4(Ipv4Addr::new(a, b, c, d)));
    }
    (!GLOBAL_UNICAST.contains(&within)).then_some("not a global unicast address")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseNetworkError {
    /// The text is not an address with an optional prefix length.
    #[error("a network is an address, a / and the number of leading bits, as in 10.0.0.0/8")]
    Form,
    /// The address has bits set beyond the prefix.
    #[error("the address has bits after its first {prefix}; write the network as {network}")]
    HostBits { prefix: u8, network: IpNet },
    /// The address is IPv4-mapped. The system connects such an address as IPv4, so the network would never match.
    #[error("an IPv4-mapped address is treated as IPv4; write the network as IPv4")]
    Mapped,
}

/// Parses a network such as `10.0.0.0/8` or `fd00::/8`. Without `/` it is a single address.
///
/// # Errors
/// The fault of the text. `ipnet` would also accept an address with leading zeros, or bits after the prefix.
pub fn parse_network(text: &str) -> Result<IpNet, ParseNetworkError> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| ParseNetworkError::Form)?;
    let network = match prefix {
        None => IpNet::from(address),
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            let prefix = digits.parse().map_err(|_| ParseNetworkError::Form)?;
            IpNet::new(address, prefix).map_err(|_| ParseNetworkError::Form)?
        }
        Some(_) => return Err(ParseNetworkError::Form),
    };
    if address.to_canonical() != address {
        return Err(ParseNetworkError::Mapped);
    }
    if network.trunc() != network {
        let (prefix, network) = (network.prefix_len(), network.trunc());
        return Err(ParseNetworkError::HostBits { prefix, network });
    }
    Ok(network)
}

/// The NAT64 prefix of RFC 6052. The last 32 bits of such an address are an IPv4 address.
const NAT64: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// The part of IPv6 that is allocated to single machines of the Internet.
const GLOBAL_UNICAST: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// The networks outside the public Internet, each narrower network before the wider one. The IPv6 networks
/// outside [`GLOBAL_UNICAST`] would be rejected anyway and are listed only for their names.
static SPECIAL: LazyLock<[(IpNet, &str); 32]> = LazyLock::new(|| {
    [
        ("0.0.0.0/32", "unspecified"),
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.100.100.200/32", "cloud metadata"),
        ("100.64.0.0/10", "shared by the customers of a carrier"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "cloud metadata"),
        ("169.254.169.254/32", "cloud metadata"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.192/32", "cloud metadata"),
        ("192.0.0.0/24", "reserved for protocols"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("2001::/32", "Teredo"),
        ("2001::/23", "reserved for protocols"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "private (unique local)"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private (site-local)"),
        ("ff00::/8", "multicast"),
    ]
    .map(|(network, kind)| (network.parse().expect("a network"), kind))
});

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(address: &str, allowed: &[&str]) -> Option<&'static str> {
        let networks = allowed.iter().map(|text| parse_network(text).unwrap());
        let allowed = Allowed::new(networks.collect());
        let refused = allowed.check(address.parse().unwrap());
        refused.err().map(|refused| refused.kind)
    }

    #[test]
    fn callback_address_of_the_public_internet_is_allowed() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2003::1",
            "2606:4700:4700::1111",
            "3ffe:ffff::1",
            "3fff:1000::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
        ] {
            assert_eq!(kind(address, &[]), None, "{address}");
        }
    }

    #[test]
    fn callback_address_that_is_not_public_is_refused_by_kind() {
        for (kind_of_all, addresses) in [
            ("unspecified", &["0.0.0.0", "::", "::ffff:0.0.0.0"][..]),
            ("this network", &["0.0.0.1", "0.255.255.255"]),
            (
                "loopback",
                &["127.0.0.1", "127.0.0.0", "127.255.255.255", "::1"],
            ),
            (
                "loopback",
                &["::ffff:127.0.0.1", "::ffff:7f00:1", "64:ff9b::127.0.0.1"],
            ),
            (
                "private",
                &["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255"],
            ),
            (
                "private",
                &["192.168.0.0", "192.168.255.255", "::ffff:192.168.1.1"],
            ),
            ("private", &["64:ff9b::10.1.2.3", "64:ff9b::a01:203"]),
            (
                "private (unique local)",
                &["fc00::", "fd00:ec2::254", "fd20:ce::254", "fdff::1"],
            ),
            ("private (site-local)", &["fec0::1", "feff::1"]),
            (
                "link-local",
                &["169.254.0.0", "169.254.255.255", "fe80::1", "febf::1"],
            ),
            (
                "cloud metadata",
                &["169.254.169.254", "100.100.100.200", "168.63.129.16"],
            ),
            (
                "cloud metadata",
                &[
                    "192.0.0.192",
                    "::ffff:169.254.169.254",
                    "64:ff9b::a9fe:a9fe",
                ],
            ),
            (
                "shared by the customers of a carrier",
                &["100.64.0.0", "100.127.255.255"],
            ),
            (
                "reserved for protocols",
                &["192.0.0.0", "192.0.0.255", "2001:1::1", "2001:1ff::"],
            ),
            (
                "documentation",
                &["192.0.2.1", "198.51.100.1", "203.0.113.1"],
            ),
            (
                "documentation",
                &["2001:db8::1", "2001:db8:ffff::1", "3fff::1", "3fff:fff::1"],
            ),
            ("benchmarking", &["198.18.0.0", "198.19.255.255"]),
            (
                "multicast",
                &["224.0.0.1", "239.255.255.255", "ff00::", "ff02::1"],
            ),
            ("broadcast", &["255.255.255.255"]),
            ("reserved", &["240.0.0.0", "255.255.255.254"]),
            ("6to4 relay", &["192.88.99.1"]),
            (
                "6to4",
                &[
                    "2002::",
                    "2002:7f00:1::1",
                    "2002:a00:1::1",
                    "2002:808:808::1",
                ],
            ),
            (
                "Teredo",
                &["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
            ),
            // IPv4-compatible, IPv4-translated, NAT64 of one network, discard-only and segment routing
            // addresses.
            (
                "not a global unicast address",
                &["::2", "::127.0.0.1", "::ffff:0:127.0.0.1"],
            ),
            (
                "not a global unicast address",
                &["64:ff9b:1::10.0.0.1", "64:ff9b::1:10.0.0.1"],
            ),
            (
                "not a global unicast address",
                &["100::1", "5f00::1", "4000::", "1fff::1"],
            ),
        ] {
            for address in addresses {
                assert_eq!(kind(address, &[]), Some(kind_of_all), "{address}");
            }
        }
    }

    #[test]
    fn callback_allow_permits_only_the_configured_networks() {
        let loopback = ["127.0.0.0/8", "::1"];
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "::ffff:127.0.0.1",
            "::1",
            "1.1.1.1",
        ] {
            assert_eq!(kind(address, &loopback), None, "{address}");
        }
        for address in ["10.0.0.1", "::", "fd00::1"] {
            assert!(kind(address, &loopback).is_some(), "{address}");
        }
        // An address behind a translator is not the loopback of this machine.
        assert_eq!(kind("64:ff9b::127.0.0.1", &loopback), Some("loopback"));
        assert_eq!(kind("64:ff9b::127.0.0.1", &["64:ff9b::/96"]), None);
        assert_eq!(kind("fd12::1", &["fd00::/8"]), None);
        assert_eq!(kind("fe80::1", &["::/0"]), None);
        assert_eq!(kind("10.0.0.1", &["::/0"]), Some("private"));
        assert_eq!(kind("10.0.0.1", &["0.0.0.0/0"]), None);
    }

    #[test]
    fn callback_networks_are_parsed_in_cidr_notation() {
        for (text, written) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("10.1.2.2/31", "10.1.2.2/31"),
            ("FD00::/8", "fd00::/8"),
            ("::/0", "::/0"),
            ("::1", "::1/128"),
        ] {
            assert_eq!(parse_network(text).unwrap().to_string(), written);
        }
        for text in [
            "",
            "/",
            "/8",
            "10.0.0.0/",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/+8",
            "10.0.0.0/-1",
            "10.0.0.0/255.0.0.0",
            "10/8",
            "localhost",
            "10.0.0.0/8/8",
            "10.0.0.0/256",
            "010.0.0.0/8",
            " ::1",
        ] {
            assert_eq!(parse_network(text), Err(ParseNetworkError::Form), "{text}");
        }
        assert_eq!(
            parse_network("::ffff:10.0.0.0/104"),
            Err(ParseNetworkError::Mapped)
        );
        for (text, network) in [
            ("127.0.0.1/8", "127.0.0.0/8"),
            ("10.0.0.1/0", "0.0.0.0/0"),
            ("10.1.2.3/31", "10.1.2.2/31"),
            ("fd00::1/64", "fd00::/64"),
            ("::1/0", "::/0"),
        ] {
            let error = parse_network(text).unwrap_err().to_string();
            assert!(
                error.ends_with(&format!("write the network as {network}")),
                "{error}"
            );
        }
    }

    /// An earlier wider network would hide the name of a narrower one.
    #[test]
    fn special_networks_list_narrower_before_wider() {
        for (later, (network, _)) in SPECIAL.iter().enumerate() {
            assert_eq!(network.trunc(), *network);
            for (earlier, _) in &SPECIAL[..later] {
                assert!(!earlier.contains(network), "{earlier} hides {network}");
            }
        }
    }
}
