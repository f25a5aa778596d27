//! docs/performance.md: the machine, the commands, the table, the ratios; and the parts that documents are made of.

use crate::measure::Found;
use crate::report::machine::Machine;
use crate::table;
use crate::targets;

pub(crate) fn code(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("    {line}\n") }).collect()
}

/// A table whose second column is a number.
pub(crate) fn rows_of<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> String {
    let line = |cells: [&str; N]| format!("| {} |\n", cells.join(" | "));
    let rule = std::array::from_fn(|column| if column == 1 { "---:" } else { "---" });
    let body = rows.iter().map(|row| line(row.each_ref().map(String::as_str)));
    line(header) + &line(rule) + &body.collect::<String>()
}

/// The whole document.
pub(crate) fn markdown(found: &Found, machine: &Machine, command: &str) -> String {
    let written = paragraph(&format!(
        "Written by `{command}`, which took {:.0} minutes: do not edit it, run that again on a quiet machine. Figures are medians \
         of the runs in the column `runs`; runs are interleaved, so that rows that are held against each other were measured \
         within the same minutes.",
        found.seconds / 60.0,
    ));
    let single = found.rows.iter().filter(|row| row.runs == 1).count();
    let written = match single {
        0 => written,
        _ => {
            written
                + "\n"
                + &paragraph(&format!(
                    "{single} of the {} rows are single runs, whose neighbours may differ by a fifth for no reason but the machine.",
                    found.rows.len()
                ))
        }
    };
    let mut text = format!(
        "# Performance\n\n{written}\n## Machine\n\n{}\n## Table\n\n{}\n{}\n![ns per state-pass](performance.svg)\n",
        code(&machine.text()),
        code(&table::text(&found.rows)),
        paragraph(table::LEGEND),
    );
    let golegal = targets::against_golegal(&found.rows);
    if !golegal.is_empty() {
        text += "\n## Against golegal\n\n";
        text += &paragraph(
            "How many times less wall time per state-pass and residue than golegal, which counts one residue with two \
             processes; two threads or workers. Where less was found than is wanted, docs/targets.md says what limits \
             it.",
        );
        text.push('\n');
        text += &rows_of(["row", "times", "wanted", "against"], &golegal);
    }
    let own = targets::among_themselves(&found.rows);
    if !own.is_empty() {
        text += "\n## Ratios\n\n";
        text += &rows_of(["what", "found", "wanted"], &own);
    }
    if !found.notes.is_empty() {
        text += "\n## Not measured\n\n";
        text.extend(found.notes.iter().map(|note| paragraph(&format!("- {note}"))));
    }
    text += "\n## Commands\n\n";
    text += &paragraph(
        "`keima-bench` is in `target/release`, built by `scripts/bench`; DIR is a folder of its own each time, and workers \
         and `submit` find the coordinator by KEIMA_COORDINATOR, the address that it prints.",
    );
    text += "\n";
    text += &code(&found.commands.join("\n"));
    text += "\n## Instructions\n\n";
    text += &paragraph(
        "`scripts/instructions` counts the instructions of the inner loops with valgrind's callgrind on a fixed piece of \
             work and prints them per state-pass, function by function: a figure that noise does not touch. They \
             compare one version of keima with another. Of blocks rows of one and four lanes are counted, for which AVX-512 \
             is not used; where others would take it, valgrind, which does not know it, would have them take AVX2. `cargo bench \
             -p keima-engine` times the inner loops alone.",
    );
    text
}

/// Text in lines of at most 120 characters.
pub(crate) fn paragraph(text: &str) -> String {
    let (mut lines, mut width) = (String::new(), 0);
    for word in text.split_whitespace() {
        let wide = word.chars().count();
        if width > 0 && width + 1 + wide > 120 {
            lines.push('\n');
            width = 0;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines += word;
        width += wide;
    }
    lines + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Kind, Label, Sample};
    use crate::table::Row;

    #[test]
    fn everything_is_in_the_document() {
        let row = |kind, residues, nanos: f64| Row {
            label: Label { kind, height: 9, residues, threads: 2 },
            runs: if residues == 4 { 1 } else { 5 },
            sample: Sample { seconds: nanos, state_passes: 1e9, ..Sample::default() },
        };
        let found = Found {
            rows: vec![row(Kind::BlockForward, 1, 1.6), row(Kind::BlockForward, 4, 3.2), row(Kind::Golegal, 1, 128.0)],
            notes: vec!["count of something: no\nmemory".into()],
            commands: vec!["keima count go 9x9".into()],
            seconds: 120.0,
        };
        let machine = Machine { lines: vec![("processor", "a good one".into())] };
        let text = markdown(&found, &machine, "scripts/bench --quick");
        for part in [
            "Written by `scripts/bench --quick`, which took 2 minutes: do not edit it",
            "which counts one residue with two",
            "1 of the 3 rows are single runs",
            "    processor  a good one\n",
            "    block passes, forward",
            "| block passes, forward, 9x9, K=1 | 80.0 |  | golegal 9x9 |",
            "| block passes, forward, 9x9, K=4 | 160 | 250 | golegal 9x9 |",
            "| block passes 9x9: K=4 against K=1, per residue | 2.00 |",
            "- count of something: no memory\n",
            "    keima count go 9x9\n",
        ] {
            assert!(text.contains(part), "{part:?} is missing in\n{text}");
        }
        assert!(text.lines().all(|line| line.starts_with("    ") || line.chars().count() <= 120));
        let bare = markdown(&Found::default(), &machine, "scripts/bench");
        assert!(
            !bare.contains("## Against golegal")
                && !bare.contains("single runs")
                && !bare.contains("Not measured")
                && !bare.contains("## Ratios")
        );
    }
}
