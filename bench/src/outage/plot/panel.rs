//! One panel: a scale of time, a scale of values, and what is drawn on them.

use std::fmt::{self, Write as _};
use std::time::Duration;

use super::super::END;
use super::super::run::Run;

/// The values at the lower and at the upper edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) from: f64,
    pub(super) to: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Panel {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) axis: Axis,
}

impl Panel {
    pub(super) const WIDTH: f64 = 382.0;
    const HEIGHT: f64 = 126.0;

    /// What lies under all else.
    pub(super) fn begin(&self, out: &mut String, run: &Run) -> fmt::Result {
        let (from, to) = (self.x(run.stopped), self.x(run.went_on));
        writeln!(
            out,
            "<rect class=\"away\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            short(from),
            self.top,
            short(to - from),
            Self::HEIGHT
        )
    }

    /// Fills what is under values at even steps of time.
    pub(super) fn area(
        &self,
        out: &mut String,
        class: &str,
        values: impl ExactSizeIterator<Item = f64>,
    ) -> fmt::Result {
        let step = Self::WIDTH / values.len() as f64;
        write!(out, "<path class=\"{class}\" d=\"M{} {}", self.left, short(self.base()))?;
        let mut height = short(self.base());
        for (number, value) in values.enumerate() {
            let next = short(self.y(value));
            if next != height {
                write!(out, "H{}V{next}", short(self.left + step * number as f64))?;
                height = next;
            }
        }
        writeln!(out, "H{}V{}z\"/>", self.left + Self::WIDTH, short(self.base()))
    }

    /// Joins values at even steps of time.
    pub(super) fn line(
        &self,
        out: &mut String,
        class: &str,
        values: impl ExactSizeIterator<Item = f64>,
    ) -> fmt::Result {
        let step = Self::WIDTH / values.len() as f64;
        write!(out, "<path class=\"{class}\" d=\"M")?;
        for (number, value) in values.enumerate() {
            let x = self.left + step * (number as f64 + 0.5);
            write!(out, "{}{} {}", if number > 0 { "L" } else { "" }, short(x), short(self.y(value)))?;
        }
        writeln!(out, "\"/>")
    }

    /// One value, all the time.
    pub(super) fn level(&self, out: &mut String, class: &str, value: f64) -> fmt::Result {
        let y = short(self.y(value));
        writeln!(out, "<path class=\"{class}\" d=\"M{} {y}h{}\"/>", self.left, Self::WIDTH)
    }

    /// What lies above all else: the scales, and when the store was stopped and went on.
    pub(super) fn end(
        &self,
        out: &mut String,
        name: &str,
        ticks: impl Iterator<Item = (f64, String)>,
        run: &Run,
    ) -> fmt::Result {
        for (value, text) in ticks {
            let y = self.y(value);
            self.level(out, "grid", value)?;
            writeln!(
                out,
                "<text class=\"e\" x=\"{}\" y=\"{}\">{text}</text>",
                self.left - 5.0,
                short(y + 4.0)
            )?;
        }
        for second in (0..=END.as_secs()).step_by(5) {
            let (x, base) = (short(self.x(Duration::from_secs(second))), self.base());
            writeln!(
                out,
                "<path class=\"axis\" d=\"M{x} {base}v4\"/><text class=\"c\" x=\"{x}\" y=\"{}\">{second}</text>",
                base + 15.0
            )?;
        }
        for turn in [run.stopped, run.went_on] {
            let x = short(self.x(turn));
            writeln!(out, "<path class=\"turn\" d=\"M{x} {}v{}\"/>", self.top, Self::HEIGHT)?;
        }
        let (x, y) = (self.left - 40.0, self.top + Self::HEIGHT / 2.0);
        writeln!(
            out,
            "<path class=\"axis\" d=\"M{} {}v{}h{}\"/>\n\
             <text class=\"c\" transform=\"rotate(-90 {x} {y})\" x=\"{x}\" y=\"{y}\">{name}</text>",
            self.left,
            self.top,
            Self::HEIGHT,
            Self::WIDTH
        )
    }

    const fn base(&self) -> f64 {
        self.top + Self::HEIGHT
    }

    fn x(&self, at: Duration) -> f64 {
        self.left + Self::WIDTH * at.as_secs_f64() / END.as_secs_f64()
    }

    fn y(&self, value: f64) -> f64 {
        let Axis { from, to } = self.axis;
        self.base() - Self::HEIGHT * (value.clamp(from, to) - from) / (to - from)
    }
}

/// A place to a tenth, which is enough to be seen.
fn short(place: f64) -> String {
    let text = format!("{place:.1}");
    text.trim_end_matches(".0").to_owned()
}
