//! Where an order comes from: what it counts, and by which programs.

use serde::{Deserialize, Serialize};

/// What an order counts, and by which programs. A worker refuses what it would make otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The problem's identity, `keima_model::AnyProblem::identity`; empty where the same process gives and takes orders.
    pub identity: String,
    /// Build of the coordinator's program; empty where nobody said it.
    pub build: String,
    /// Build of the program that began the job. It stands in the headers of the job's runs.
    pub begun_by: String,
}

impl Origin {
    /// Why a worker cannot do the order: it opens the problem as `identity`, in the program `build`. Names both sides.
    /// `None` where they agree. Builds are compared where both are known.
    pub fn refusal(&self, identity: &str, build: &str) -> Option<String> {
        if self.identity != identity {
            return Some(format!(
                "the coordinator counts {:?}, this worker would count {identity:?}; install the same keima on both machines",
                self.identity
            ));
        }
        let differs = self.build != build && !self.build.is_empty() && !build.is_empty();
        differs.then(|| {
            format!(
                "the coordinator is build {}, this worker is build {build}; install the same keima on both machines",
                self.build
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_refused_by_name() {
        let check = |identity: &str, build: &str, named: Option<[&str; 2]>| {
            let origin = Origin { identity: "go 3x3".into(), build: "0.1.0+1".into(), begun_by: "0.1.0+0".into() };
            let refusal = origin.refusal(identity, build);
            assert_eq!(refusal.is_some(), named.is_some(), "{refusal:?}");
            for name in named.into_iter().flatten() {
                assert!(refusal.as_ref().is_some_and(|text| text.contains(name)), "{name} in {refusal:?}");
            }
        };
        check("go 3x3", "0.1.0+1", None);
        check("go 3x3", "", None);
        check("go 3x4", "0.1.0+1", Some(["\"go 3x3\"", "\"go 3x4\""]));
        check("go 3x3", "0.1.0+2", Some(["build 0.1.0+1", "build 0.1.0+2"]));
    }
}
