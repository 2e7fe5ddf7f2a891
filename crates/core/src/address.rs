//! The normal form of client addresses.

use std::net::{IpAddr, Ipv6Addr};

/// IPv6 clients are grouped by this many leading bits: one subscriber is commonly given a /64, and could
/// otherwise draw a new key for every request.
const IPV6_GROUP_BITS: u32 = 64;

/// Reads an address as proxies write it: with or without brackets, port, zone or blanks around it.
///
/// IPv4-mapped and NAT64 addresses become the IPv4 address that they carry. `None` if it is no address.
pub fn parse(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = match text.strip_prefix('[') {
        Some(rest) => {
            let (inside, port) = rest.split_once(']')?;
            if !(port.is_empty() || port.strip_prefix(':').is_some_and(is_port)) {
                return None;
            }
            inside
        }
        None => match text.split_once(':') {
            Some((host, port)) if !port.contains(':') => {
                if !is_port(port) {
                    return None;
                }
                host
            }
            _ => text,
        },
    };
    let without_zone = bare.split_once('%').map_or(bare, |(address, _)| address);
    without_zone.parse().ok().map(unmapped)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

/// The address that clients are told apart by: of an IPv6 address the first of its /64.
pub fn group(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => {
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << (128 - IPV6_GROUP_BITS))))
        }
    }
}

fn unmapped(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    if let Some(v4) = v6.to_ipv4_mapped() {
        return IpAddr::V4(v4);
    }
    // `64:ff9b::/96` is the well-known prefix of NAT64 (RFC 6052), which carries an IPv4 address.
    if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = v6.segments() {
        return IpAddr::V4((u32::from(high) << 16 | u32::from(low)).into());
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Option<IpAddr> {
        parse(text).map(group)
    }

    fn same(spellings: &[&str]) {
        let first = key(spellings[0]);
        assert!(first.is_some());
        assert!(spellings.iter().all(|text| key(text) == first), "{spellings:?}");
    }

    #[test]
    fn one_client_is_one_address_however_it_is_spelt() {
        same(&["203.0.113.9", "203.0.113.9:52241", "203.0.113.9:0", " 203.0.113.9 ", "::ffff:203.0.113.9"]);
        same(&["192.0.2.1", "::ffff:c000:201", "64:ff9b::c000:201"]);
        same(&["2001:db8:1:1::1", "2001:DB8:1:1:FFFF::9", "[2001:db8:1:1::1]:443", "[2001:db8:1:1::2]"]);
        same(&["fe80::1%eth0", "fe80::1"]);
    }

    #[test]
    fn different_clients_stay_apart() {
        assert_ne!(key("192.0.2.1"), key("::ffff:192.0.2.2"));
        assert_ne!(key("2001:db8:1:1::1"), key("2001:db8:1:2::1"));
        assert_ne!(key("64:ff9b::c000:201"), key("64:ff9b::c000:202"));
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in
            ["", "garbage", "1.2.3", "01.2.3.4", "[::1", "[::1]x", "1.2.3.4:", "1.2.3.4:99999", "unknown"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
