//! Addresses: one client is one key however its address is spelt, and what is no address is none.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, LazyLock};

use weir_core::address::{group, parse};
use weir_core::{CLIENT_IP, Charges, PolicySet};

use crate::support;

static POLICIES: LazyLock<Arc<PolicySet>> = LazyLock::new(|| {
    support::policies("domain: fuzz\npolicies:\n  - { name: each, key: [client.ip], quota: 5/minute }\n")
});

/// Takes the input as an address, what is not UTF-8 replaced.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let parsed = parse(&text);
    if let Ok(bare) = text.trim().parse::<IpAddr>() {
        assert_eq!(parsed, Some(carried(bare)), "{text:?} is an address as it stands");
    }
    match parsed {
        Some(address) => {
            assert_eq!(carried(address), address, "{text:?} carries another address");
            every_spelling_is_that_address(address);
            nothing_more_is_an_address(address);
            groups(address);
            assert_eq!(charged(&text), charged(&address.to_string()), "{text:?} has a key of its own");
        }
        None => no_address_has_its_key(&text),
    }
}

/// The IPv4 address inside an IPv4-mapped or NAT64 one.
fn carried(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => match v6.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
                Ipv4Addr::new(a, b, c, d).into()
            }
            _ => address,
        },
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// As proxies, logs and people write it.
fn every_spelling_is_that_address(address: IpAddr) {
    let spellings = match address {
        IpAddr::V4(v4) => vec![
            format!("{v4}"),
            format!(" {v4}\t"),
            format!("{v4}:443"),
            format!("[{v4}]:65535"),
            format!("::ffff:{v4}"),
            format!("[::FFFF:{v4}]:0"),
            format!("64:ff9b::{v4}"),
        ],
        IpAddr::V6(v6) => {
            let segments = v6.segments().map(|segment| format!("{segment:04X}")).join(":");
            vec![
                format!("{v6}"),
                format!("\n{v6} "),
                format!("{v6}").to_uppercase(),
                format!("{v6}%eth0"),
                format!("[{v6}]"),
                format!("[{v6}%25eth0]:443"),
                segments,
            ]
        }
    };
    for spelling in spellings {
        assert_eq!(parse(&spelling), Some(address), "{spelling:?}");
    }
}

/// An address with something that does not belong to it is none: neither cut short nor read as octal.
fn nothing_more_is_an_address(address: IpAddr) {
    let mut spoilt = vec![
        format!("g{address}"),
        format!("[{address}"),
        format!("[{address}]x"),
        format!("[{address}]:65536"),
    ];
    if let IpAddr::V4(v4) = address {
        spoilt.extend([format!("0{v4}"), format!("{v4}.1"), format!("{v4}:"), format!("{v4}:x")]);
    }
    for text in spoilt {
        assert_eq!(parse(&text), None, "{text:?}");
    }
}

/// A group is the address itself, or a /64: all of it, and nothing beside it.
fn groups(address: IpAddr) {
    let whole = group(address);
    assert_eq!(group(whole), whole, "the group of {address} is not its own");
    let IpAddr::V6(v6) = address else {
        return assert_eq!(whole, address, "an IPv4 address is a group of one");
    };
    assert_eq!(whole, IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)));
    for bit in [0, 31, 63, 64, 96, 127] {
        let other = IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() ^ (1 << bit)));
        assert_eq!(group(other) == whole, bit < 64, "{address} and {other}");
        // The other may carry an IPv4 address, and is then no neighbour.
        if carried(other) == other {
            let (one, other) = (charged(&address.to_string()), charged(&other.to_string()));
            assert_eq!(one == other, bit < 64, "the keys of {address} and its neighbour at bit {bit}");
        }
    }
}

/// A text that is no address has a key of its own, or none where there is no text.
fn no_address_has_its_key(text: &str) {
    let charges = charged(text);
    if text.trim().is_empty() {
        assert!(charges.charges.is_empty() && charges.skipped.as_slice() == [0_usize], "{charges:?}");
        return;
    }
    for address in ["0.0.0.0", "203.0.113.7", "::", "::1"] {
        assert_ne!(charges, charged(address), "{text:?} is taken for {address}");
    }
    // As bytes it may be what an address looks like inside a key.
    if let &[a, b, c, d] = text.trim().as_bytes() {
        assert_ne!(charges, charged(&Ipv4Addr::new(a, b, c, d).to_string()), "{text:?} imitates an address");
    }
}

fn charged(address: &str) -> Charges {
    support::charges(&POLICIES, &[(CLIENT_IP, address)])
}
