//! A recurrence small enough to check by eye: proper colourings of a grid with three colours.
//!
//! A border cell is two bits, 3 stands for "nothing yet". A pass gives a cell a colour unlike the one above it and the
//! one it replaces (its left neighbour). In the layout of a stage the cells outside the window stand first.

use std::collections::BTreeMap;
use std::sync::Arc;

use keima_model::{
    AnyProblem, Board, Functional, Layout, Problem, ProblemError, ProblemInfo, ProblemRequest, Registry, Successors,
    Window,
};

pub(crate) struct Colourings(pub(crate) Board, Rule);

/// Which colours a cell may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Unlike the cell above and the cell to the left.
    Both,
    /// Another recurrence under the same name: unlike the cell above, and in the first row also unlike the cell to the left.
    Loose,
}

fn cell(key: u64, cell: u32) -> u64 {
    key >> (2 * cell) & 3
}

impl Colourings {
    pub(crate) const fn new(board: Board) -> Self {
        Self(board, Rule::Both)
    }
    /// Cells in the order of a layout, lowest bits first.
    fn places(&self, layout: Layout) -> Vec<u32> {
        match layout {
            Layout::Canonical => (0..self.0.height).collect(),
            Layout::Stage(w) => {
                let outside = (0..self.0.height).filter(|c| !(w.first..w.end()).contains(c));
                (w.first..w.end()).chain(outside).collect()
            }
        }
    }
    /// The count by a plain map, without moduli.
    pub(crate) fn brute(&self) -> u64 {
        let mut vector = BTreeMap::from([((1 << (2 * self.0.height)) - 1, 1_u64)]);
        for pass in 0..self.0.passes() {
            let mut next = BTreeMap::new();
            for (key, count) in vector {
                for to in self.successors(pass, key) {
                    *next.entry(to).or_default() += count;
                }
            }
            vector = next;
        }
        vector.values().sum()
    }
    fn successors(&self, pass: u32, key: u64) -> impl Iterator<Item = u64> {
        let c = self.0.cell(pass);
        let above = if c == 0 { 3 } else { cell(key, c - 1) };
        let old = cell(key, c);
        (0..3)
            .filter(move |&colour| colour != above && (colour != old || c > 0 && self.1 == Rule::Loose))
            .map(move |x| key & !(3 << (2 * c)) | x << (2 * c))
    }
}

impl ProblemInfo for Colourings {
    fn name(&self) -> &'static str {
        "colourings"
    }
    fn size(&self) -> String {
        self.0.to_string()
    }
    fn board(&self) -> Board {
        self.0
    }
    fn identity(&self) -> String {
        format!("colourings {}", self.0)
    }
    fn key_bits(&self) -> u32 {
        2 * self.0.height
    }
    fn bound(&self) -> Vec<(u32, u32)> {
        // Far too large, so that there are several moduli and sweeps.
        vec![(3, 100)]
    }
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        vec![(3, pass + 1)]
    }
    fn functionals(&self) -> Vec<Functional> {
        let of = |k: u32| Functional {
            after_pass: k * self.0.height - 1,
            name: format!("C({},{k})", self.0.height),
            index: k,
            answer: k == self.0.length,
            known: None,
            formula: None,
        };
        (1..=self.0.length).map(of).collect()
    }
    fn family_bits(&self, layout: Layout) -> u32 {
        match layout {
            Layout::Canonical => self.key_bits(),
            Layout::Stage(window) => 2 * window.len,
        }
    }
    fn largest_family(&self, _: Window) -> Option<u128> {
        None
    }
    fn forecast(&self) -> Option<keima_model::Forecast> {
        None
    }
}

impl Problem<u64> for Colourings {
    fn start(&self) -> Vec<(u64, u64)> {
        vec![((1 << self.key_bits()) - 1, 1)]
    }
    fn leave(&self, _: Window, layout: Layout, keys: &mut [u64]) {
        let places = self.places(layout);
        for key in keys {
            *key = (0..).zip(&places).fold(0, |to, (at, &from)| to | cell(*key, from) << (2 * at));
        }
    }
    fn enter(&self, layout: Layout, _: Window, keys: &mut [u64]) {
        let places = self.places(layout);
        for key in keys {
            *key = (0..).zip(&places).fold(0, |to, (at, &from)| to | cell(*key, at) << (2 * from));
        }
    }
    fn expand(&self, pass: u32, _: Window, keys: &[u64], out: &mut Successors<u64>) {
        for &key in keys {
            let before = out.keys.len();
            out.keys.extend(self.successors(pass, key));
            out.degrees.push((out.keys.len() - before) as u8);
        }
    }
    fn weigh(&self, _: usize, _: Window, _: &[u64], weights: &mut [u32]) {
        weights.fill(1);
    }
}

/// Opens `colourings HxL`.
pub(crate) struct Toys;

/// Opens something else under the same name.
pub(crate) struct LooseToys;

impl Registry for Toys {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        open(request, Rule::Both)
    }
}

impl Registry for LooseToys {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        open(request, Rule::Loose)
    }
}

fn open(request: &ProblemRequest, rule: Rule) -> Result<AnyProblem, ProblemError> {
    let bad = || ProblemError::BadSize {
        problem: request.name.clone(),
        got: request.size.clone(),
        why: "expected HxL, for example 3x4".into(),
    };
    let (height, length) = request.size.split_once('x').ok_or_else(bad)?;
    let (height, length) = (height.parse().map_err(|_| bad())?, length.parse().map_err(|_| bad())?);
    Ok(AnyProblem::Narrow(Arc::new(Colourings(Board { height, length }, rule))))
}

pub(crate) fn request(size: &str) -> ProblemRequest {
    ProblemRequest { name: "colourings".into(), size: size.into(), options: Vec::new() }
}
