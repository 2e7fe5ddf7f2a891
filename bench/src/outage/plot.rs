//! The picture: for each posture what was answered, and how soon.

mod panel;

use std::fmt::{self, Write as _};
use std::time::Duration;

use weir_core::Posture;
use weir_store::RedisSettings;

use super::answers::{Course, Figures, Kind};
use super::run::Run;
use super::{END, GO_ON, LIMIT, NODES, OFFERED, STOP};
use panel::{Axis, Panel};

/// A step of the picture.
const BIN: Duration = Duration::from_millis(200);

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 638.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 504.0;
const TOP: f64 = 114.0;
/// From one row to the next.
const ROW: f64 = 178.0;
/// From one word of the legend to the next.
const COLUMN: f64 = 166.0;

/// Colours that those tell apart who do not see all of them, and darker where less is admitted.
const STYLE: &str = "text{font:11px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#222}.b{font-weight:600}\
    .s{fill:#555}.e{text-anchor:end}.c{text-anchor:middle}path{fill:none}.axis{stroke:#666}.grid{stroke:#000;\
    stroke-opacity:.13}.away{fill:#f7e8c8}.turn{stroke:#222;stroke-dasharray:2 3}.due{stroke:#b3261e;\
    stroke-dasharray:6 3}.k0{fill:#2a6fb0}.k1{fill:#f0a830}.k2{fill:#cfd3d8}.k3{fill:#8c2d2d}.w0{stroke:#1b1b1b;\
    stroke-width:1.6}.w1{stroke:#2f8f6b;stroke-width:1.3}.w2{stroke:#9a7fc4}";

const WAITS: [&str; 3] = ["wait: p50", "wait: p99", "wait: slowest"];

pub(super) fn plot(run: &Run) -> Result<String, fmt::Error> {
    let mut out = String::new();
    head(&mut out)?;
    legend(&mut out)?;
    let steps: Vec<Vec<Figures>> = run.courses.iter().map(steps).collect();
    let decades = decades(steps.iter().flatten());
    for (row, (course, steps)) in run.courses.iter().zip(&steps).enumerate() {
        let top = TOP + ROW * row as f64;
        answers(&mut out, top, course, steps, run)?;
        waits(&mut out, top, course, steps, run, decades)?;
    }
    for left in [LEFT, RIGHT] {
        let (x, y) = (left + Panel::WIDTH / 2.0, HEIGHT - 14.0);
        writeln!(out, "<text class=\"c\" x=\"{x}\" y=\"{y}\">time, s</text>")?;
    }
    writeln!(out, "</svg>")?;
    Ok(out)
}

fn steps(course: &Course) -> Vec<Figures> {
    let count = (END.as_millis() / BIN.as_millis()) as u32;
    (0..count).map(|step| course.figures(BIN * step, BIN * (step + 1))).collect()
}

/// The powers of ten, in milliseconds, between which all waits are.
fn decades<'a>(steps: impl Iterator<Item = &'a Figures>) -> (i32, i32) {
    let waits: Vec<f64> = steps.flat_map(|step| [step.p50, step.max]).map(log_millis).collect();
    let least = waits.iter().copied().fold(0.0, f64::min).floor();
    let most = waits.iter().copied().fold(2.0, f64::max).ceil();
    (least as i32, most as i32)
}

/// The logarithm of a wait in milliseconds; none is shorter than a microsecond.
fn log_millis(wait: Duration) -> f64 {
    (wait.as_secs_f64() * 1e3).max(1e-3).log10()
}

fn head(out: &mut String) -> fmt::Result {
    let away = (GO_ON - STOP).as_secs();
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n\
         <title>What policies answer while their store is away, and how soon, by on_store_failure</title>\n\
         <style>{STYLE}</style>\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text class=\"b\" x=\"14\" y=\"20\">A store that hangs for {away} s, measured: {OFFERED} requests a second to a \
         limit of {LIMIT} a second</text>\n\
         <text class=\"s\" x=\"14\" y=\"36\">A redis-server is stopped (SIGSTOP) and goes on (SIGCONT). Each posture has \
         {NODES} nodes, asked in turn. Steps of {} ms.</text>",
        BIN.as_millis()
    )
}

fn legend(out: &mut String) -> fmt::Result {
    let box_at = |x: f64, y: f64, class: &str, name: &str| {
        let (top, text) = (y - 9.5, x + 17.0);
        format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{top}\" width=\"12\" height=\"11\"/><text x=\"{text}\" y=\"{y}\">\
             {name}</text>"
        )
    };
    let names = Kind::ALL.into_iter().enumerate().map(|(number, kind)| (format!("k{number}"), kind.name()));
    for ((class, name), column) in names.chain([("away".into(), "store away")]).zip(0_u8..) {
        writeln!(out, "{}", box_at(LEFT + COLUMN * f64::from(column), 58.0, &class, name))?;
    }
    let lines = WAITS.iter().enumerate().map(|(number, name)| (format!("w{number}"), *name));
    for ((class, name), column) in lines.chain([("due".into(), "wait: the deadline")]).zip(0_u8..) {
        let x = LEFT + COLUMN * f64::from(column);
        writeln!(
            out,
            "<path class=\"{class}\" d=\"M{} 72h18\"/><text x=\"{}\" y=\"76\">{name}</text>",
            x - 6.0,
            x + 17.0
        )?;
    }
    Ok(())
}

/// The panel on the left: kinds of answers, one above the other.
fn answers(out: &mut String, top: f64, course: &Course, steps: &[Figures], run: &Run) -> fmt::Result {
    let does = match course.posture {
        Posture::Open => "admits, and counts nothing".to_owned(),
        Posture::Closed => "refuses with 503".to_owned(),
        Posture::Local => format!("each node admits its share, {} a second", LIMIT / NODES),
    };
    let panel = Panel { left: LEFT, top, axis: Axis { from: 0.0, to: f64::from(OFFERED) * 1.15 } };
    panel.begin(out, run)?;
    writeln!(
        out,
        "<text x=\"{LEFT}\" y=\"{}\"><tspan class=\"b\">on_store_failure: {}</tspan> · {does}</text>",
        top - 8.0,
        course.posture
    )?;
    // Each up to the sum of itself and those below, so the highest goes first and the others cover it.
    for number in (0..Kind::ALL.len()).rev() {
        let sums = steps.iter().map(|step| step.rates.iter().take(number + 1).sum());
        panel.area(out, &format!("k{number}"), sums)?;
    }
    let ticks = (0..=4).map(|quarter| OFFERED * quarter / 4);
    panel.end(out, "requests a second", ticks.map(|tick| (f64::from(tick), tick.to_string())), run)
}

/// The panel on the right: how soon, on a scale of logarithms.
fn waits(
    out: &mut String,
    top: f64,
    course: &Course,
    steps: &[Figures],
    run: &Run,
    (least, most): (i32, i32),
) -> fmt::Result {
    let millis = |wait: Duration| wait.as_secs_f64() * 1e3;
    let (away, all) = (course.figures(run.stopped, run.went_on), course.figures(Duration::ZERO, END));
    let panel = Panel { left: RIGHT, top, axis: Axis { from: f64::from(least), to: f64::from(most) } };
    panel.begin(out, run)?;
    writeln!(
        out,
        "<text x=\"{RIGHT}\" y=\"{}\">while it is away: p50 {:.2} ms, p99 {:.2} ms; slowest of all {:.1} ms</text>",
        top - 8.0,
        millis(away.p50),
        millis(away.p99),
        millis(all.max)
    )?;
    let waits: [fn(&Figures) -> Duration; 3] = [|step| step.p50, |step| step.p99, |step| step.max];
    for (number, wait) in waits.into_iter().enumerate().rev() {
        panel.line(out, &format!("w{number}"), steps.iter().map(|step| log_millis(wait(step))))?;
    }
    panel.level(out, "due", log_millis(RedisSettings::DEADLINE))?;
    let ticks = (least..=most).map(|power| (f64::from(power), 10_f64.powi(power).to_string()));
    panel.end(out, "wait, ms", ticks, run)
}

#[cfg(test)]
mod tests {
    use super::super::answers::Answered;
    use super::*;

    #[test]
    fn the_picture_holds_every_posture_and_is_small() {
        let answered = |number: u32| Answered {
            came: Duration::from_millis(number.into()),
            kind: Kind::ALL[number as usize / 7 % 4],
            is_degraded: false,
            wait: Duration::from_micros(1) * (number % 997).pow(2),
        };
        let course = |posture| Course { posture, answers: (0..20_000).map(answered).collect() };
        let courses = Posture::ALL.into_iter().map(course).collect();
        let picture =
            plot(&Run { stopped: STOP, went_on: GO_ON, courses, late: [Duration::ZERO; 3] }).unwrap();
        for class in ["k0", "k1", "k2", "k3", "w0", "w1", "w2"] {
            // Once in the legend, and once for each posture.
            assert_eq!(picture.matches(&format!("class=\"{class}\"")).count(), 4, "{class}");
        }
        assert!(picture.len() < 60_000 && !picture.contains("NaN"), "{} bytes", picture.len());
    }
}
