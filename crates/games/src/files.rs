//! The game graph as a file: `GraphML`, DOT for Graphviz, or JSON.
//!
//! Nodes are named by their positions in letters (`.` empty, `X` black, `O` white; point 0 first, down the columns). Edges
//! have the move: the point's number, and `X` or `O`.

use std::io::{self, Write};

use keima_problems::go::rules::{Colour, Move};

use crate::graph::GameGraph;

/// A form of a graph's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// `GraphML`, <http://graphml.graphdrawing.org>.
    GraphMl,
    /// DOT, the language of Graphviz.
    Dot,
    /// JSON: `format`, `version`, `board`, `positions`, and `edges` as [from, to, move].
    Json,
}

impl GraphFormat {
    /// The format of a file name's suffix: `graphml`, `dot` (or `gv`), `json`.
    pub fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            "graphml" => Some(Self::GraphMl),
            "dot" | "gv" => Some(Self::Dot),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// A move in letters: `X3`.
fn letters(Move { point, colour }: Move) -> String {
    format!("{}{point}", if colour == Colour::Black { 'X' } else { 'O' })
}

/// Writes the graph.
pub fn write(graph: &GameGraph, format: GraphFormat, out: &mut impl Write) -> io::Result<()> {
    let rules = graph.rules();
    let nodes = || graph.positions().iter().map(|&position| rules.letters(position));
    // The edges of a node stand in the order of its moves.
    let edges = || {
        (0_u32..).zip(graph.positions()).flat_map(|(from, &position)| {
            rules.moves(position).zip(graph.next(from)).map(move |((one, _), &to)| (from, to, letters(one)))
        })
    };
    match format {
        GraphFormat::GraphMl => {
            writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
            writeln!(out, "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">")?;
            writeln!(out, "<key id=\"position\" for=\"node\" attr.name=\"position\" attr.type=\"string\"/>")?;
            writeln!(out, "<key id=\"move\" for=\"edge\" attr.name=\"move\" attr.type=\"string\"/>")?;
            writeln!(out, "<graph id=\"go {rules}\" edgedefault=\"directed\">")?;
            for (node, position) in nodes().enumerate() {
                writeln!(out, "<node id=\"n{node}\"><data key=\"position\">{position}</data></node>")?;
            }
            for (from, to, one) in edges() {
                writeln!(out, "<edge source=\"n{from}\" target=\"n{to}\"><data key=\"move\">{one}</data></edge>")?;
            }
            writeln!(out, "</graph>\n</graphml>")
        }
        GraphFormat::Dot => {
            writeln!(out, "digraph \"go {rules}\" {{")?;
            for (node, position) in nodes().enumerate() {
                writeln!(out, "  n{node} [label=\"{position}\"];")?;
            }
            for (from, to, one) in edges() {
                writeln!(out, "  n{from} -> n{to} [label=\"{one}\"];")?;
            }
            writeln!(out, "}}")
        }
        GraphFormat::Json => {
            writeln!(
                out,
                "{{\"format\": \"keima-go-graph\", \"version\": 1, \"board\": \"{rules}\",\n \"positions\": ["
            )?;
            let last = graph.positions().len() - 1;
            for (node, position) in nodes().enumerate() {
                writeln!(out, "  \"{position}\"{}", if node == last { "" } else { "," })?;
            }
            writeln!(out, " ],\n \"edges\": [")?;
            let mut comma = "";
            for (from, to, one) in edges() {
                write!(out, "{comma}  [{from}, {to}, \"{one}\"]")?;
                comma = ",\n";
            }
            writeln!(out, "\n ]}}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_all_nodes_and_edges() {
        for (length, nodes, edges) in [(1, 1, 0), (2, 5, 12), (3, 15, 42)] {
            let graph = GameGraph::new(1, length).unwrap();
            let text = |format| {
                let mut out = Vec::new();
                write(&graph, format, &mut out).unwrap();
                String::from_utf8(out).unwrap()
            };
            let count = |text: &str, what: &str| text.matches(what).count();
            let xml = text(GraphFormat::GraphMl);
            assert_eq!((count(&xml, "<node "), count(&xml, "<edge ")), (nodes, edges), "{xml}");
            let dot = text(GraphFormat::Dot);
            assert_eq!((count(&dot, " [label="), count(&dot, " -> ")), (nodes + edges, edges), "{dot}");
            let json: serde_json::Value = serde_json::from_str(&text(GraphFormat::Json)).unwrap();
            let len = |key: &str| json[key].as_array().unwrap().len();
            assert_eq!((len("positions"), len("edges")), (nodes, edges), "{json}");
        }
        let graph = GameGraph::new(1, 2).unwrap();
        let mut out = Vec::new();
        write(&graph, GraphFormat::Dot, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        // The white stone takes the black one's last liberty: it captures.
        assert!(text.contains("n1 [label=\"X.\"]") && text.contains("n1 -> n4 [label=\"O1\"]"), "{text}");
        assert!(text.contains("n4 [label=\".O\"]"), "{text}");
    }

    #[test]
    fn suffixes() {
        for (suffix, format) in
            [("graphml", Some(GraphFormat::GraphMl)), ("gv", Some(GraphFormat::Dot)), ("png", None), ("", None)]
        {
            assert_eq!(GraphFormat::of_suffix(suffix), format, "{suffix}");
        }
    }
}
