//! The workers of a coordinator, as a table.

use keima_coordinator::WorkerStatus;

use crate::terminal::units::{show_bytes, show_seconds};

/// A table with a line for each worker, and below it why some get no tasks.
pub(super) fn workers_text(workers: &[WorkerStatus]) -> String {
    let head = ["worker", "state", "tasks", "a task", "memory", "disk", "runs", "address"].map(String::from);
    let rows: Vec<[String; 8]> = std::iter::once(head).chain(workers.iter().map(row)).collect();
    let mut widths = [0; 8];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut lines: Vec<String> = rows.iter().map(|row| aligned(row, &widths)).collect();
    for worker in workers {
        for (job, reason) in &worker.set_aside {
            lines.push(format!("{}  no tasks of {job}: {reason}", worker.id));
        }
    }
    lines.join("\n")
}

fn row(worker: &WorkerStatus) -> [String; 8] {
    // Records may name a worker that has not said hello since the coordinator started.
    let known = worker.slots > 0;
    let unless_unknown = |text: String| if known { text } else { "-".to_owned() };
    let state = if worker.here { "here".to_owned() } else { format!("away for {}", silence(worker)) };
    [
        worker.id.to_string(),
        state,
        unless_unknown(format!("{} of {}", worker.running, worker.slots)),
        unless_unknown(show_bytes(worker.task_memory_bytes)),
        worker.memory_used_bytes.map_or("-".to_owned(), show_bytes),
        unless_unknown(format!("{} of {}", show_bytes(worker.disk_used_bytes), show_bytes(worker.disk_bytes))),
        worker.runs.to_string(),
        unless_unknown(worker.address.clone()),
    ]
}

fn silence(worker: &WorkerStatus) -> String {
    show_seconds(worker.silent_millis as f64 / 1000.0)
}

fn aligned(row: &[String; 8], widths: &[usize; 8]) -> String {
    let cells = row.iter().zip(widths).map(|(cell, &width)| format!("{cell:<width$}"));
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use keima_coordinator::{JobId, WorkerId};

    use super::*;

    fn worker(name: &str, here: bool, slots: u32) -> WorkerStatus {
        WorkerStatus {
            id: WorkerId(name.to_owned()),
            address: "http://10.0.0.7:7702".to_owned(),
            folder: "/nvme/keima".to_owned(),
            here,
            silent_millis: 35_000,
            slots,
            running: 1,
            task_memory_bytes: 64 << 20,
            disk_bytes: 1 << 30,
            disk_used_bytes: 3 << 20,
            memory_used_bytes: Some(100 << 20).filter(|_| slots > 0),
            runs: 12,
            set_aside: Vec::new(),
        }
    }

    #[test]
    fn each_worker_has_a_line_and_each_reason_one_below() {
        let aside = vec![(JobId(3), "set aside: its disk is full".to_owned())];
        let workers = [
            worker("0011223344556677", true, 2),
            WorkerStatus { set_aside: aside, ..worker("aa", false, 2) },
            worker("bb", false, 0),
        ];
        let text = workers_text(&workers);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[0].starts_with("worker            state"), "{text}");
        assert!(
            lines[1].contains("  here ") && lines[1].contains("  1 of 2  64 MiB  100 MiB  3 MiB of 1 GiB  12 "),
            "{text}"
        );
        assert!(lines[2].contains("  away for 35") && lines[2].ends_with("http://10.0.0.7:7702"), "{text}");
        assert!(lines[3].contains("away for 35") && !lines[3].contains("10.0.0.7"), "{text}");
        assert_eq!(lines[4], "aa  no tasks of j3: set aside: its disk is full");
        let json = keima_http::json::workers(&workers);
        assert_eq!((&json["workers"][0]["state"], &json["workers"][1]["state"]), (&"here".into(), &"away".into()));
        assert_eq!(json["workers"][1]["set_aside"][0]["job"], "j3");
    }
}
