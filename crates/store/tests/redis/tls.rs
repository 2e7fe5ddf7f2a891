//! Connections that nobody can listen to: who is believed, and who is not.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use weir_core::{Algorithm, Span};
use weir_servers::{Kind, Server};
use weir_store::{RedisSettings, RedisStore};

use crate::block_on;
use crate::cases::{OWN, admitted, rule};

/// An authority with what it has signed, in PEM.
struct Authority {
    certificate: String,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { certificate: issuer.pem(), issuer }
    }

    /// A certificate for loopback, and its key.
    fn signed(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_server_over_tls_is_believed_by_its_authority_alone() {
    if !Kind::Redis.is_wanted() {
        return;
    }
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (certificate, key) = authority.signed();
    let files = [file("cert", &certificate), file("key", &key), file("ca", &authority.certificate)];
    let server = Server::start_tls(Kind::Redis, [&files[0], &files[1], &files[2]], &[]);
    let pem = |text: &str| Some(text.as_bytes().to_vec());
    let own = |(certificate, key): (String, String)| Some((certificate.into_bytes(), key.into_bytes()));
    let settings = RedisSettings::parse(&format!("rediss://127.0.0.1:{}", server.port)).unwrap();
    let settings = settings.with_deadline(crate::DEADLINE);
    block_on(async {
        let connect = async |authority, own| {
            let settings = settings.clone().with_certificates(authority, own);
            let settings = settings.map_err(|error| error.to_string())?;
            RedisStore::connect(&settings, &OWN).await.map_err(|error| error.to_string())
        };
        let (store, _) = connect(pem(&authority.certificate), own(authority.signed())).await.unwrap();
        let three = rule(Algorithm::TokenBucket, 3, Span::from_secs(864_000));
        assert_eq!(admitted(&store, "k", three, 5).await, 3);
        let (certificate, key) = authority.signed();
        let halves = |certificate: &str, key: &str| own((certificate.to_owned(), key.to_owned()));
        for (theirs, ours, says) in [
            (pem(&stranger.certificate), own(authority.signed()), "its certificate is not believed"),
            (None, own(authority.signed()), "its certificate is not believed"),
            (pem(&authority.certificate), None, "it refuses us over TLS"),
            (pem(&authority.certificate), own(stranger.signed()), "it refuses us over TLS"),
            (pem("nothing"), own(authority.signed()), "no certificate of an authority in PEM"),
            (pem(&authority.certificate), halves("x", &key), "no certificate of ours in PEM"),
            (pem(&authority.certificate), halves(&certificate, "x"), "no key of ours in PEM"),
        ] {
            let said = connect(theirs, ours).await.unwrap_err();
            assert!(said.contains(says) && said.lines().count() == 1, "{said}");
        }
        for url in [server.url(), format!("rediss://127.0.0.1:{}", Kind::Redis.shared().port)] {
            let settings = RedisSettings::parse(&url).unwrap();
            let said = RedisStore::connect(&settings, &OWN).await.unwrap_err().to_string();
            assert!(said.contains("no server answers there"), "{said}");
        }
    });
}
