//! `--fault`: what is to go wrong on purpose.

use weir_store::{Fault, FaultKind};

use super::{SettingsError, millis, refuse};

const FORM: &str =
    "write `store: delay 50ms 20%`, `store: fail 5%` or `store: drop 5%`, or several with commas between";
/// Longer than any deadline, so that every effect of a delay can be had.
const DELAY_MAX: u64 = 60_000;

/// The faults of `store: delay 50ms 20%, fail 5%`.
pub(super) fn faults(text: &str) -> Result<Vec<Fault>, SettingsError> {
    let refused = |why: String| refuse("fault", text, why);
    let Some(faults) = text.trim().strip_prefix("store:") else { return Err(refused(FORM.into())) };
    faults.split(',').map(|fault| one(fault).map_err(refused)).collect()
}

fn one(fault: &str) -> Result<Fault, String> {
    let (kind, percent) = match fault.split_whitespace().collect::<Vec<_>>()[..] {
        ["delay", delay, percent] => {
            let delay = millis(delay, 1, DELAY_MAX).ok_or("a delay is from 1ms to 60s")?;
            (FaultKind::Delay(delay), percent)
        }
        ["fail", percent] => (FaultKind::Fail, percent),
        ["drop", percent] => (FaultKind::Drop, percent),
        _ => return Err(FORM.into()),
    };
    let percent = percent.strip_suffix('%').and_then(|number| number.parse().ok());
    let percent = percent.filter(|percent| (1..=100).contains(percent));
    Ok(Fault { kind, percent: percent.ok_or("a share is a whole number from 1% to 100%")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_as_they_are_shown() {
        let shown = |text| faults(text).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(shown("store: delay 50ms 20%"), ["delay 50ms 20%"]);
        assert_eq!(
            shown("store:drop 1%,  delay 2s 100% ,fail 3%"),
            ["drop 1%", "delay 2000ms 100%", "fail 3%"]
        );
    }

    #[test]
    fn wrong_faults_say_what_to_write() {
        for (text, says) in [
            ("", "store: delay 50ms 20%"),
            ("delay 50ms 20%", "store: delay 50ms 20%"),
            ("store:", "store: delay 50ms 20%"),
            ("store: explode 5%", "store: delay 50ms 20%"),
            ("store: fail 5%,", "store: delay 50ms 20%"),
            ("store: delay 20%", "store: delay 50ms 20%"),
            ("store: delay 50 20%", "1ms to 60s"),
            ("store: delay 61s 20%", "1ms to 60s"),
            ("store: fail 0%", "1% to 100%"),
            ("store: fail 101%", "1% to 100%"),
            ("store: fail 5", "1% to 100%"),
            ("store: fail -5%", "1% to 100%"),
        ] {
            let error = faults(text).unwrap_err().to_string();
            assert!(error.starts_with("--fault") && error.contains(says), "{text}: {error}");
        }
    }
}
