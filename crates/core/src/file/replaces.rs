//! `replaces`: names become policies; names that do not exist, doubles and circles are refused.

use std::collections::HashMap;

use super::policies::Named;
use super::read::list;
use super::report::{Problem, SHOWN_MAX, closest};
use super::tree::Node;
use crate::policy::Policy;

/// One name in a policy's `replaces`.
struct Edge<'a> {
    /// The place of the other policy among all.
    to: usize,
    node: &'a Node,
}

/// Resolves `replaces` of every policy.
pub(super) fn resolve(all: &[Named<'_>], policies: &mut [Policy], problems: &mut Vec<Problem>) {
    let edges = edges(all, problems);
    circles(all, &edges, problems);
    for (named, edges) in all.iter().zip(&edges) {
        let replaced: Vec<usize> = edges
            .iter()
            .filter_map(|edge| all.get(edge.to))
            .flat_map(|other| other.policies.clone())
            .collect();
        for policy in policies.get_mut(named.policies.clone()).unwrap_or_default() {
            policy.replaces.clone_from(&replaced);
        }
    }
}

fn edges<'a>(all: &[Named<'a>], problems: &mut Vec<Problem>) -> Vec<Vec<Edge<'a>>> {
    let places: HashMap<&str, usize> =
        all.iter().enumerate().map(|(place, named)| (named.name, place)).collect();
    let mut edges = Vec::new();
    for named in all {
        let mut own: Vec<Edge<'a>> = Vec::new();
        for node in list(named.node, "replaces") {
            let Some(text) = node.text() else { continue };
            match places.get(text) {
                Some(_) if text == named.name => {
                    problems.push(Problem::new(&node.span, "a policy cannot replace itself"));
                }
                Some(to) if own.iter().any(|edge| edge.to == *to) => {
                    problems.push(Problem::new(&node.span, format!("`{text}` is in the list already")));
                }
                Some(to) => own.push(Edge { to: *to, node }),
                None => {
                    let problem = Problem::new(&node.span, format!("there is no policy called `{text}`"));
                    let names = all.iter().map(|other| other.name);
                    // Looking for the nearest name takes its time; who has a hundred mistakes needs no more.
                    let near = if problems.len() < SHOWN_MAX { closest(text, names) } else { None };
                    problems.push(match near {
                        Some(name) => problem.hint(format!("did you mean `{name}`?")),
                        None => problem.hint("it may have been renamed or removed"),
                    });
                }
            }
        }
        edges.push(own);
    }
    edges
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Unseen,
    /// On the way from where the search started to where it is.
    OnPath,
    Done,
}

/// A search in depth over all policies; an edge that leads back onto the path closes a circle.
fn circles(all: &[Named<'_>], edges: &[Vec<Edge<'_>>], problems: &mut Vec<Problem>) {
    let mut marks = vec![Mark::Unseen; all.len()];
    for start in 0..all.len() {
        // Where the search is, and which of that policy's edges comes next.
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((at, next)) = path.pop() {
            let Some(mark) = marks.get_mut(at) else { continue };
            if next == 0 && *mark == Mark::Done {
                continue;
            }
            let Some(edge) = edges.get(at).and_then(|edges| edges.get(next)) else {
                *mark = Mark::Done;
                continue;
            };
            *mark = Mark::OnPath;
            path.push((at, next + 1));
            match marks.get(edge.to) {
                Some(Mark::OnPath) => {
                    let name = all.get(at).map_or("", |named| named.name);
                    let other = edge.node.text().unwrap_or_default();
                    problems.push(
                        Problem::new(&edge.node.span, format!("`{name}` and `{other}` replace each other"))
                            .hint("perhaps by way of others; none of them would ever apply"),
                    );
                }
                Some(Mark::Unseen) => path.push((edge.to, 0)),
                _ => {}
            }
        }
    }
}
