//! Mistakes in a file: where, what, and what to do.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::scalar::NAME_MAX;

/// A report shows at most this many problems in full.
pub(super) const SHOWN_MAX: usize = 100;

/// One mistake, or one thing that looks like a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The bytes of the file that it is about.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// The problems of one file, in the order of their places, with the text that they point into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    name: String,
    text: String,
    /// Where each line starts, so that finding a place does not read the file again.
    lines: Vec<usize>,
    problems: Vec<Problem>,
}

/// What is wrong with a value, and what to do, before it is known where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) message: String,
    pub(super) hint: String,
}

/// Refuses a value.
pub(super) fn complain<T>(message: impl Into<String>, hint: impl Into<String>) -> Result<T, Complaint> {
    Err(Complaint { message: message.into(), hint: hint.into() })
}

impl Complaint {
    pub(super) fn at(self, span: &Range<usize>) -> Problem {
        Problem::new(span, self.message).hint(self.hint)
    }
}

impl Problem {
    pub(super) fn new(span: &Range<usize>, message: impl Into<String>) -> Self {
        Self { span: span.clone(), message: message.into(), hint: None }
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Report {
    pub(super) fn new(name: &str, text: &str, mut problems: Vec<Problem>) -> Self {
        for problem in &mut problems {
            let end = problem.span.end.min(text.len());
            problem.span = problem.span.start.min(end)..end;
        }
        problems.sort_by_key(|problem| problem.span.start);
        problems.dedup();
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { name: name.into(), text: text.into(), lines, problems }
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The problems, in the order of their places.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Line and column of a problem, both counted from 1, the column in characters.
    pub fn place(&self, problem: &Problem) -> (usize, usize) {
        let (line, start) = self.line_at(problem.span.start);
        let before = self.text.get(start..problem.span.start).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// The number of the line around a byte, counted from 1, and where it starts.
    fn line_at(&self, byte: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= byte);
        (line, line.checked_sub(1).and_then(|index| self.lines.get(index)).copied().unwrap_or_default())
    }

    /// The problems for people, each with its line, the text underlined, and the hint. Only the first
    /// hundred: who has more has one mistake many times.
    pub fn render(&self, level: Severity, colours: bool) -> String {
        let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
        let shown = self.problems.iter().take(SHOWN_MAX);
        let mut texts: Vec<String> =
            shown.map(|problem| self.render_one(problem, level, &renderer)).collect();
        let left = self.problems.len().saturating_sub(SHOWN_MAX);
        if left > 0 {
            texts.push(format!("... and {left} more"));
        }
        texts.join("\n\n")
    }

    /// The first problem in one line, with its place, and how many more there are.
    pub fn brief(&self) -> String {
        let Some(problem) = self.problems.first() else { return self.name.clone() };
        let (line, column) = self.place(problem);
        let more = self.problems.len() - 1;
        let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
        format!("{}:{line}:{column}: {}{more}", self.name, printable(&problem.message))
    }

    /// Shows the line in which the problem starts; a whole block underlined tells nothing.
    fn render_one(&self, problem: &Problem, level: Severity, renderer: &Renderer) -> String {
        let level = match level {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let start = problem.span.start;
        let (number, line_start) = self.line_at(start);
        let rest = self.text.get(line_start..).unwrap_or_default();
        let line = rest.lines().next().unwrap_or_default();
        let end = (problem.span.end - line_start).min(line.trim_end().len()).max(start - line_start);
        let snippet = Snippet::source(line)
            .path(&self.name)
            .line_start(number)
            .annotation(AnnotationKind::Primary.span(start - line_start..end));
        let group = level.primary_title(printable(&problem.message)).element(snippet);
        match &problem.hint {
            Some(hint) => renderer.render(&[group.element(Level::HELP.message(printable(hint)))]),
            None => renderer.render(&[group]),
        }
    }
}

/// How bad the problems of a report are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The file is refused.
    Error,
    /// The file is taken.
    Warning,
}

/// As errors, without colours.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Severity::Error, false))
    }
}

impl std::error::Error for Report {}

/// The bytes of a file as text, or a report of why they are none.
pub(super) fn decode<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, Report> {
    let whole =
        |message: String, hint: &str| Report::new(name, "", vec![Problem::new(&(0..0), message).hint(hint)]);
    if bytes.len() > super::SIZE_MAX {
        let message = format!("the file has more than the {} bytes allowed", super::SIZE_MAX);
        return Err(whole(message, "is this the right file?"));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let text = String::from_utf8_lossy(valid);
        let at = text.len()..text.len();
        let problem = Problem::new(&at, "the file is not UTF-8 from here on").hint("save the file as UTF-8");
        Report::new(name, &text, vec![problem])
    })
}

/// Messages quote the file; no character of it may steer a terminal.
fn printable(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if c.is_control() {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        out
    })
}

/// The closest of `known` to what was written, for "did you mean".
pub(super) fn closest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.75;
    if written.len() > NAME_MAX {
        return None;
    }
    let score = |name: &'a str| (strsim::jaro_winkler(written, name), name);
    let best = known.into_iter().map(score).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= ALIKE).then_some(best.1)
}
