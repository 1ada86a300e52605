//! The addresses that a callback may connect to.
//!
//! A client chooses the URL of its callback, but the service connects from inside the operator's network,
//! where many servers trust every internal client. The service therefore connects only to addresses of the
//! public Internet and to networks that the operator permits. The addresses outside the public Internet are
//! those of the IANA special-purpose registries (RFC 6890, as of 2025). Some clouds serve credentials to
//! their machines at further addresses, and these are listed too. IPv6 allocates only 2000::/3, so all other
//! IPv6 addresses are rejected without a list.
//!
//! An address that contains another address counts as the address that it leads to. The system connects an
//! IPv4-mapped address as IPv4. An address behind NAT64 (RFC 6052) contains the IPv4 address in its last 32
//! bits. The other embeddings are 6to4, Teredo, IPv4-compatible, IPv4-translated and NAT64 within one
//! network. No useful receiver stands behind these, so they are always rejected. This check cannot detect a
//! public address that leads back inside, or a NAT64 prefix of the operator's own choice.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The networks that callbacks may connect to besides the public Internet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed(Vec<Network>);

/// An address that callbacks must not connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the service does not connect to {address}: {kind}")]
pub struct RefusedAddress {
    pub address: IpAddr,
    /// The kind of the address, such as "loopback".
    pub kind: &'static str,
}

impl Allowed {
    /// Permits the public Internet and these networks.
    #[must_use]
    pub fn new(networks: Vec<Network>) -> Self {
        Self(networks)
    }

    /// Checks whether callbacks may connect to an address.
    ///
    /// # Errors
    /// [`RefusedAddress`] with the kind of the address.
    pub fn check(&self, address: IpAddr) -> Result<(), RefusedAddress> {
        // The system connects an IPv4-mapped address as the IPv4 address inside it.
        let address = address.to_canonical();
        if self.0.iter().any(|network| network.contains(address)) {
            return Ok(());
        }
        special(address).map_or(Ok(()), |kind| Err(RefusedAddress { address, kind }))
    }
}

/// The kind of an address outside the public Internet; `None` for a public address.
fn special(address: IpAddr) -> Option<&'static str> {
    let mut table = SPECIAL.iter();
    if let Some((_, kind)) = table.find(|(network, _)| network.contains(address)) {
        return Some(kind);
    }
    let IpAddr::V6(within) = address else {
        return None;
    };
    if NAT64.contains(address) {
        let [.., a, b, c, d] = within.octets();
        return special(IpAddr::V4(Ipv4Addr::new(a, b, c, d)));
    }
    (!GLOBAL_UNICAST.contains(address)).then_some("not a global unicast address")
}

/// A network of addresses with a common prefix, such as `10.0.0.0/8` or `fd00::/8`. Without `/` the network
/// is one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// The reason why a text is not a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseNetworkError {
    /// The text has another form.
    #[error("a network is an address, a / and the number of leading bits, as in 10.0.0.0/8")]
    Form,
    /// The address has bits set beyond the prefix.
    #[error("the address has bits after its first {prefix}; write the network as {network}")]
    HostBits { prefix: u8, network: Network },
    /// The address is IPv4-mapped. Such an address is connected as IPv4, so the network would never match.
    #[error("an IPv4-mapped address is treated as IPv4; write the network as IPv4")]
    Mapped,
}

impl Network {
    const fn v4(octets: [u8; 4], prefix: u8) -> Self {
        let [a, b, c, d] = octets;
        Self {
            address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
            prefix,
        }
    }

    /// Makes a network from the first half of its address. The second half is 0.
    const fn v6(head: [u16; 4], prefix: u8) -> Self {
        let [a, b, c, d] = head;
        Self {
            address: IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)),
            prefix,
        }
    }

    /// Whether this network contains every address of its family.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.prefix == 0
    }

    /// Whether this network contains an address. An IPv4 network contains no IPv6 address, and the reverse.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let common = (bits(self.address) ^ bits(address)).leading_zeros();
        self.address.is_ipv4() == address.is_ipv4() && common >= u32::from(self.prefix)
    }

    fn without_host_bits(self) -> Self {
        let dropped = u128::MAX.checked_shr(u32::from(self.prefix)).unwrap_or(0);
        let kept = bits(self.address) & !dropped;
        let address = match self.address {
            IpAddr::V4(_) => {
                let [a, b, c, d, ..] = kept.to_be_bytes();
                IpAddr::V4(Ipv4Addr::new(a, b, c, d))
            }
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(kept)),
        };
        Self { address, ..self }
    }
}

/// The bits of an address, starting at the highest bit of the result.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl FromStr for Network {
    type Err = ParseNetworkError;

    fn from_str(text: &str) -> Result<Self, ParseNetworkError> {
        let (address, prefix) = text
            .split_once('/')
            .map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| ParseNetworkError::Form)?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => width,
            Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                digits.parse().map_err(|_| ParseNetworkError::Form)?
            }
            Some(_) => return Err(ParseNetworkError::Form),
        };
        if prefix > width {
            return Err(ParseNetworkError::Form);
        }
        if address.to_canonical().is_ipv4() != address.is_ipv4() {
            return Err(ParseNetworkError::Mapped);
        }
        let network = Self { address, prefix }.without_host_bits();
        if network.address != address {
            return Err(ParseNetworkError::HostBits { prefix, network });
        }
        Ok(network)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// The NAT64 prefix of RFC 6052. The last 32 bits of such an address are an IPv4 address.
const NAT64: Network = Network::v6([0x64, 0xff9b, 0, 0], 96);

/// The part of IPv6 that is allocated to single machines of the Internet.
const GLOBAL_UNICAST: Network = Network::v6([0x2000, 0, 0, 0], 3);

/// The networks outside the public Internet, each narrower network before the wider one. The IPv6 networks
/// outside [`GLOBAL_UNICAST`] would be rejected anyway and are listed only for their names.
const SPECIAL: [(Network, &str); 32] = [
    (Network::v4([0, 0, 0, 0], 32), "unspecified"),
    (Network::v4([0, 0, 0, 0], 8), "this network"),
    (Network::v4([10, 0, 0, 0], 8), "private"),
    (Network::v4([100, 100, 100, 200], 32), "cloud metadata"),
    (
        Network::v4([100, 64, 0, 0], 10),
        "shared by the customers of a carrier",
    ),
    (Network::v4([127, 0, 0, 0], 8), "loopback"),
    (Network::v4([168, 63, 129, 16], 32), "cloud metadata"),
    (Network::v4([169, 254, 169, 254], 32), "cloud metadata"),
    (Network::v4([169, 254, 0, 0], 16), "link-local"),
    (Network::v4([172, 16, 0, 0], 12), "private"),
    (Network::v4([192, 0, 0, 192], 32), "cloud metadata"),
    (Network::v4([192, 0, 0, 0], 24), "reserved for protocols"),
    (Network::v4([192, 0, 2, 0], 24), "documentation"),
    (Network::v4([192, 88, 99, 0], 24), "6to4 relay"),
    (Network::v4([192, 168, 0, 0], 16), "private"),
    (Network::v4([198, 18, 0, 0], 15), "benchmarking"),
    (Network::v4([198, 51, 100, 0], 24), "documentation"),
    (Network::v4([203, 0, 113, 0], 24), "documentation"),
    (Network::v4([224, 0, 0, 0], 4), "multicast"),
    (Network::v4([255, 255, 255, 255], 32), "broadcast"),
    (Network::v4([240, 0, 0, 0], 4), "reserved"),
    (Network::v6([0, 0, 0, 0], 128), "unspecified"),
    (
        Network {
            address: IpAddr::V6(Ipv6Addr::LOCALHOST),
            prefix: 128,
        },
        "loopback",
    ),
    (Network::v6([0x2001, 0, 0, 0], 32), "Teredo"),
    (Network::v6([0x2001, 0, 0, 0], 23), "reserved for protocols"),
    (Network::v6([0x2001, 0xdb8, 0, 0], 32), "documentation"),
    (Network::v6([0x2002, 0, 0, 0], 16), "6to4"),
    (Network::v6([0x3fff, 0, 0, 0], 20), "documentation"),
    (Network::v6([0xfc00, 0, 0, 0], 7), "private (unique local)"),
    (Network::v6([0xfe80, 0, 0, 0], 10), "link-local"),
    (Network::v6([0xfec0, 0, 0, 0], 10), "private (site-local)"),
    (Network::v6([0xff00, 0, 0, 0], 8), "multicast"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(address: &str, allowed: &[&str]) -> Option<&'static str> {
        let networks = allowed.iter().map(|network| network.parse().unwrap());
        let allowed = Allowed::new(networks.collect());
        let refused = allowed.check(address.parse().unwrap());
        refused.err().map(|refused| refused.kind)
    }

    #[test]
    fn the_public_internet_may_be_dialled() {
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
    fn what_is_not_public_is_refused_by_its_name() {
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
    fn a_configured_network_may_be_dialled_and_only_that() {
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
    fn networks_are_read_as_they_are_written() {
        for (text, written) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("10.1.2.2/31", "10.1.2.2/31"),
            ("FD00::/8", "fd00::/8"),
            ("::/0", "::/0"),
            ("::1", "::1/128"),
        ] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), written);
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
            " ::1",
        ] {
            assert_eq!(
                text.parse::<Network>(),
                Err(ParseNetworkError::Form),
                "{text}"
            );
        }
        assert_eq!(
            "::ffff:10.0.0.0/104".parse::<Network>(),
            Err(ParseNetworkError::Mapped)
        );
        for (text, network) in [
            ("127.0.0.1/8", "127.0.0.0/8"),
            ("10.0.0.1/0", "0.0.0.0/0"),
            ("10.1.2.3/31", "10.1.2.2/31"),
            ("fd00::1/64", "fd00::/64"),
            ("::1/0", "::/0"),
        ] {
            let error = text.parse::<Network>().unwrap_err().to_string();
            assert!(
                error.ends_with(&format!("write the network as {network}")),
                "{error}"
            );
        }
    }

    /// An earlier wider network would hide the name of a narrower one.
    #[test]
    fn the_narrower_network_stands_before_the_wider() {
        for (later, (network, _)) in SPECIAL.iter().enumerate() {
            assert_eq!(network.without_host_bits(), *network);
            for (earlier, _) in &SPECIAL[..later] {
                let hides = earlier.prefix <= network.prefix && earlier.contains(network.address);
                assert!(!hides, "{earlier} hides {network}");
            }
        }
    }
}
