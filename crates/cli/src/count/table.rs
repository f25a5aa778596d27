//! `keima count` of many sizes: each is counted as it would be alone, and each has its line as soon as it is counted.
//!
//! ```text
//!   text    3x5  489                     csv    size,count,error       json    one object per line
//!   latex   a tabular                           3x5,489,               bfile   n a(n), where one number runs
//!   gp      a map from sizes to counts
//! ```
//!
//! A size that cannot be counted has a line with the reason, and the others go on; a b-file ends there. Boards that are the
//! same up to a turn are counted once. Numbers are kept until all are printed, so that the same command continues.

use std::cell::RefCell;
use std::sync::Arc;

use keima_cluster::OpenProblems;
use keima_model::{AnyProblem, ProblemError, ProblemRequest, Registry};
use serde_json::{Value, json};

use super::counting::Counting;
use super::folders::{self, Folders};
use super::kept_sizes::KeptSizes;
use super::one_size::count_one;
use super::sizes::{Size, sizes};
use crate::args::{CountArgs, Format};
use crate::cluster::client::request;
use crate::exit::{CHECK_FAILED, Failed, INTERRUPTED, USAGE};
use crate::machine::{MachineMemory, cores, is_stopping};
use crate::result::{Extra, Finished, csv_line, format, gp, latex, object, tell_done};
use crate::terminal::output::{hand_over, say};

/// How the sizes are printed.
struct Lines {
    format: Format,
    /// Width of the sizes in text.
    width: usize,
}

impl Lines {
    fn new(args: &CountArgs, sizes: &[Size]) -> Result<Self, Failed> {
        let asked = &args.output.result;
        let format = format(asked, args.output.json)?;
        for (option, is_given) in [
            ("--series", asked.series),
            ("--list", asked.list),
            ("--table", asked.table.is_some()),
            ("--double-check", args.double_check),
        ] {
            if is_given {
                return Err(Failed::usage(format!(
                    "{option} needs one size: leave it out, or count one size at a time"
                )));
            }
        }
        if format == Format::Bfile && sizes.iter().any(|size| size.index.is_none()) {
            return Err(Failed::usage(
                "a b-file has one index: let one number of the size run, such as 5x1..9, or 1..9 for square boards; or use \
                 --format csv",
            ));
        }
        let width = sizes.iter().map(|size| size.text.len()).max().unwrap_or(0);
        Ok(Self { format, width })
    }

    fn head(&self) -> Result<(), Failed> {
        match self.format {
            Format::Csv => hand_over("size,count,error"),
            Format::Latex => hand_over(&latex::sizes_head()),
            Format::Gp => hand_over(&gp::sizes_head()),
            Format::Text | Format::Json | Format::Bfile => Ok(()),
        }
    }

    fn tail(&self) -> Result<(), Failed> {
        if self.format == Format::Latex { hand_over(&latex::sizes_tail()) } else { Ok(()) }
    }

    /// The line of a number.
    fn number(&self, size: &Size, result: &Value) -> Result<(), Failed> {
        let count = result["count"].as_str().unwrap_or_default();
        self.print(size, result, count)?;
        let problem = result["problem"].as_str().unwrap_or_default();
        let seconds = result["seconds"].as_f64().unwrap_or_default();
        tell_done(problem, &size.text, count, seconds, result["peak_states"].as_u64().unwrap_or_default());
        Ok(())
    }

    fn print(&self, size: &Size, result: &Value, count: &str) -> Result<(), Failed> {
        hand_over(&match self.format {
            Format::Text => format!("{:width$}  {count}", size.text, width = self.width),
            Format::Csv => csv_line(&[&size.text, count, ""]),
            Format::Bfile => format!("{} {count}", size.index.unwrap_or_default()),
            Format::Json => result.to_string(),
            Format::Latex => latex::size_line(&size.text, count),
            Format::Gp => gp::size_line(&size.text, count),
        })
    }

    /// The line of a size without a number. A b-file must not have a gap.
    fn error(&self, request: &ProblemRequest, size: &Size, failed: &Failed) -> Result<(), Failed> {
        let text = failed.text.lines().collect::<Vec<_>>().join(" ");
        match self.format {
            Format::Text | Format::Bfile => {
                say(format_args!("keima: {} {}: {text}", request.name, size.text));
                Ok(())
            }
            Format::Csv => hand_over(&csv_line(&[&size.text, "", &text])),
            Format::Latex => hand_over(&latex::size_remark(&size.text, &text)),
            Format::Gp => hand_over(&gp::size_remark(&size.text, &text)),
            Format::Json => hand_over(
                &json!({
                    "problem": request.name, "size": size.text, "count": null, "error": text, "exit_code": failed.code,
                })
                .to_string(),
            ),
        }
    }
}

/// Opens the problem of one size. A single number that is no size of the problem stands for a square board.
fn open(
    registry: &dyn Registry,
    request: &ProblemRequest,
    size: &Size,
) -> Result<(ProblemRequest, AnyProblem), ProblemError> {
    let sized = |size: &Size| ProblemRequest { size: size.text.clone(), ..request.clone() };
    let refused = match registry.open(&sized(size)) {
        Ok(problem) => return Ok((sized(size), problem)),
        Err(error @ ProblemError::BadSize { .. }) => error,
        Err(error) => return Err(error),
    };
    let square = size.square().ok_or(refused)?;
    registry.open(&sized(&square)).map(|problem| (sized(&square), problem))
}

/// Counts all sizes of the command line with problems of `registry`.
pub(super) async fn count(mut args: CountArgs, registry: Arc<dyn Registry>) -> Result<(), Failed> {
    let all = request(&args.problem);
    let sizes = sizes(&all.size)?;
    let lines = Lines::new(&args, &sizes)?;
    // Once, not for each size.
    args.memory = MachineMemory::now().granted(args.memory, |lowered| say(format_args!("keima: {lowered}")));
    // In a folder of the user's each size keeps its own state.
    let folder = args.data.is_none().then(|| Folders::default_data(&folders::name(&all, &all.size)).ok()).flatten();
    let mut kept = folder.as_deref().map(KeptSizes::open);
    if let (true, Some(kept)) = (args.fresh, &mut kept) {
        kept.remove();
    }
    let kept = RefCell::new(kept);
    let mut failures: Vec<Failed> = Vec::new();
    let mut is_headed = false;
    for (number, size) in sizes.iter().enumerate() {
        if is_stopping() {
            return Err(interrupted(number, sizes.len(), "interrupted"));
        }
        let registry = Arc::new(OpenProblems::new(Arc::clone(&registry)));
        let opened = open(&*registry, &all, size);
        if let Err(error @ (ProblemError::UnknownProblem { .. } | ProblemError::BadOption { .. })) = opened {
            return Err(error.into());
        }
        if !std::mem::replace(&mut is_headed, true) {
            lines.head()?;
        }
        let ended = match opened {
            Ok((request, problem)) => {
                let size = Size { text: request.size.clone(), index: size.index };
                one(&args, &request, &problem, registry, &|result| lines.number(&size, result), &kept).await
            }
            Err(error) => Err(error.into()),
        };
        let Err(failed) = ended else { continue };
        if failed.is_not_printed {
            return Err(failed);
        }
        if failed.code == INTERRUPTED && is_stopping() {
            return Err(interrupted(number, sizes.len(), &failed.text));
        }
        lines.error(&all, size, &failed)?;
        failures.push(failed);
        if lines.format == Format::Bfile {
            break;
        }
    }
    if is_headed {
        lines.tail()?;
    }
    // What was refused will be refused again.
    if failures.iter().all(|failed| failed.code == USAGE) {
        kept.borrow_mut().iter_mut().for_each(KeptSizes::remove);
    }
    match failures.iter().find(|failed| failed.code == CHECK_FAILED).or(failures.first()) {
        None => Ok(()),
        Some(worst) => {
            Err(Failed::new(worst.code, format!("{} of {} sizes have no number", failures.len(), sizes.len())))
        }
    }
}

/// Counts one size, unless that was done already, and prints its number.
async fn one(
    args: &CountArgs,
    request: &ProblemRequest,
    problem: &AnyProblem,
    registry: Arc<dyn Registry>,
    print: &dyn Fn(&Value) -> Result<(), Failed>,
    kept: &RefCell<Option<KeptSizes>>,
) -> Result<(), Failed> {
    // With the fingerprint of the recurrence: a number that another recurrence has made is not this problem's.
    let identity = problem.identity();
    let known = kept.borrow().as_ref().and_then(|kept| kept.find(&identity).cloned());
    if let Some(mut result) = known {
        result["size"] = request.size.clone().into();
        return print(&result);
    }
    let mut args = args.clone();
    // A folder holds the state of one size.
    let name = folders::name(request, &problem.info().size());
    for folder in [&mut args.data, &mut args.scratch].into_iter().flatten() {
        folder.push(&name);
    }
    let tell = |finished: &Finished<'_>, extra: &Extra| {
        let result = object(finished, problem.info(), false, extra)?;
        if let Some(kept) = &mut *kept.borrow_mut() {
            kept.keep(&identity, &result)?;
        }
        print(&result)
    };
    let counting = Counting {
        args: &args,
        request,
        problem,
        tell: &tell,
        other_way: false,
        name: &name,
        threads: args.threads.unwrap_or_else(cores),
        memory_bytes: args.memory,
        machine: MachineMemory::now(),
    };
    count_one(&counting, registry).await
}

fn interrupted(number: usize, sizes: usize, text: &str) -> Failed {
    Failed::new(INTERRUPTED, format!("{text}\n{number} of {sizes} sizes are done; the same command continues"))
}
